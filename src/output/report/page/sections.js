// The sections of the page. Each is a function of a group that gives {id, title, content, charts}, and `short` where the
// title is long for a link, or null where the group has nothing for it.

const kOutcomeMeanings = {
  ok: "ran, and the result was right", refused: "cannot run on this GPU", compile_failed: "the compiler refused it",
  compile_timeout: "compiling took too long", compile_crashed: "the compiler crashed",
  launch_failed: "the driver refused the launch", wrong_result: "the result was wrong",
  unstable: "its times did not settle", out_of_bounds: "wrote outside its buffers", timeout: "did not end in time",
  crashed: "brought its process down", screened_out: "given up as clearly slower than the leader",
};

const timeName = (group) => (group.predicted ? "predicted_us" : "median_us");
const meaningOf = (name) => report.columns.find((column) => column.name === name)?.meaning ?? name;
const bestOf = (group) => group.kernels.find((i) => group.cells("rank")[i] !== null) ?? null;
const timedKernels = (group) => group.kernels.filter((i) => group.time[i] > 0);

const rowTip = (group) => (row) => {
  const lines = [`${group.cells("template")[row]}`, parametersText(group, row),
    `${threeDigits(group.time[row])} us${group.cells("tflops")[row] ? `, ${threeDigits(group.cells("tflops")[row])} TFLOP/s` : ""}`];
  for (const name of ["registers", "occupancy", "spill_bytes"])
    if (group.cells(name)[row] !== null) lines.push(`${name} ${numberText(group.cells(name)[row])}`);
  return lines.filter((line) => line !== "");
};

// A chart with the same numbers as a table, which stands open where there are no charts.
function figure(chart, table, ...rest) {
  return element("figure", {}, ...(hasCharts ? [chart.root] : []), ...rest,
    element("details", {open: !hasCharts}, element("summary", {}, "The same as a table"), table));
}

function summarySection(group) {
  const best = bestOf(group);
  const content = [];
  if (group.banner) content.push(element("p", {class: "banner"}, group.banner));
  if (best !== null) content.push(...winner(group, best));
  else content.push(element("p", {}, "No configuration ran; see what did not run, below."));
  for (const line of group.lines) content.push(element("p", {class: "fact"}, line));
  content.push(provenance(group));
  return {id: "summary", title: "Summary", content, charts: []};
}

function winner(group, best) {
  const tiles = [[`${threeDigits(group.time[best])} us`, group.predicted ? "predicted time of the best" : "median of the best"]];
  const add = (name, unit, label) => {
    const value = group.cells(name)[best];
    if (value !== null) tiles.push([`${threeDigits(value)}${unit}`, label]);
  };
  add("tflops", "", "TFLOP/s");
  const rival = group.baselines.length ? group.cells("template")[group.baselines[0]] : "the baseline";
  add("percent_of_baseline", "%", `of ${rival}'s throughput`);
  add("percent_of_ceiling", "%", `of the ${group.cells("bound")[best] ?? ""} ceiling`);
  if (group.noise_floor_percent !== null) tiles.push([`${threeDigits(group.noise_floor_percent)}%`, "noise floor"]);
  tiles.push([String(group.timed), "configurations timed"]);
  const tied = group.kernels.filter((i) => group.cells("rank")[i] === 1).length - 1;
  const sentence = `${group.cells("template")[best]} ${parametersText(group, best)} is the best choice; ` +
    (tied > 0 ? `${countText(tied, "other")} cannot be told apart from it.` : "no other configuration ties with it.");
  return [element("dl", {class: "tiles"}, ...tiles.map(([value, label]) =>
    element("div", {}, element("dt", {}, label), element("dd", {}, value)))), element("p", {class: "winner"}, sentence)];
}

function provenance(group) {
  const recorded = group.recorded;
  const joined = (name) => (recorded[name] ?? []).join(", ");
  const facts = [["GPU", group.gpu], ["problem", group.problem], ["conditions", group.conditions],
    ["times", group.source], ["architecture", joined("architecture")], ["driver", joined("driver_version")],
    ["CUDA of the driver", joined("cuda_version")], ["NVRTC", joined("nvrtc_version")], ["host", joined("host")],
    ["recorded", recorded.from === recorded.to ? recorded.from : `${recorded.from} to ${recorded.to}`]];
  const sweeps = report.sweeps.map((sweep) => [String(sweep.id), sweep.started_at ?? "-", sweep.gpu ?? "-",
    sweep.command ?? "-", (sweep.git_commit ?? "").slice(0, 12) || "-"]);
  return element("details", {open: true}, element("summary", {}, "Where the numbers come from"),
    element("dl", {class: "facts pairs"}, ...facts.filter(([, text]) => text).flatMap(([name, text]) =>
      [element("dt", {}, name), element("dd", {}, text)])),
    sweeps.length ? plainTable("Sweeps in the database",
      [{text: "sweep", numeric: true}, {text: "started"}, {text: "GPU"}, {text: "command", wide: true}, {text: "commit"}], sweeps)
      : null);
}

function problemsSection(groups, choose) {
  const rows = groups.map((group, place) => {
    const best = bestOf(group);
    const cell = (name) => (best === null ? "-" : numberText(group.cells(name)[best]));
    const pick = element("button", {type: "button", class: "link", onclick: () => choose(place)}, group.problem);
    return [pick, group.gpu, group.source, best === null ? "nothing ran" : String(group.cells("template")[best]),
      best === null ? "-" : threeDigits(group.time[best]), cell("tflops"), cell("percent_of_baseline"),
      best === null ? "-" : parametersText(group, best, varyingParameters(group).get(group.cells("template")[best]))];
  });
  return plainTable("The best of each problem", [{text: "problem"}, {text: "GPU"}, {text: "times"}, {text: "template"},
    {text: "time, us", numeric: true}, {text: "TFLOP/s", numeric: true}, {text: "% of baseline", numeric: true},
    {text: "parameters that vary", wide: true, spare: true}], rows);
}

function rankingSection(group) {
  const rows = group.column("rank") ? [...Array(group.count).keys()] : [];
  if (!rows.length) return null;
  const varying = varyingParameters(group);
  const shownParameters = (row) => (group.cells("kind")[row] === "baseline" ? "(baseline)"
    : parametersText(group, row, varying.get(group.cells("template")[row])));
  const column = (name, title = meaningOf(name), numeric = true) => ({name, title, numeric,
    value: (row) => group.cells(name)[row], text: (row) => numberText(group.cells(name)[row])});
  const rankText = (row) => {
    const rank = group.cells("rank")[row];
    return rank === null ? "-" : `${rank}${group.cells("tied")[row] ? "=" : ""}`;
  };
  const columns = [
    {...column("rank", "1= and 1=: cannot be told apart; none: baseline or screened out"), text: rankText},
    column("template", meaningOf("template"), false),
    {name: "parameters", title: "tuning parameters that vary", wide: true, spare: true, value: shownParameters, text: shownParameters},
    {...column(timeName(group)), value: (row) => group.time[row], text: (row) => threeDigits(group.time[row])},
    {name: "ci_us", title: "95% interval of the median", numeric: true, value: (row) => group.cells("ci_low_us")[row],
      text: (row) => (group.cells("ci_low_us")[row] === null ? "-"
        : `${threeDigits(group.cells("ci_low_us")[row])}..${threeDigits(group.cells("ci_high_us")[row])}`)},
    column("tflops"), column("percent_of_baseline"),
    column(group.column("percent_of_ceiling") ? "percent_of_ceiling" : "percent_of_peak"), column("registers"),
    column("spill_bytes"), column("occupancy"), column("occupancy_limiter", undefined, false),
    column("outcome", undefined, false),
  ].filter(({name}) => name === "parameters" || name === timeName(group)
    || group.column(name === "ci_us" ? "ci_low_us" : name) !== null);
  const fields = new Map(columns.map(({name, value}) => [name.toLowerCase(), value]));
  for (const name of Object.keys(group.rows)) {
    if (group.column(name) && !fields.has(name)) fields.set(name, (row) => group.cells(name)[row]);
  }
  for (const {name, values} of group.parameters) fields.set(name.toLowerCase(), (row) => values[row]);
  const table = new DataTable({id: "ranking-table", columns, rows, fields, caption: "Configurations that have a time",
    hint: "warptile BM=128 registers<200", details: (row) => rowDetails(group, row)});
  const left = group.timed - group.shown;
  const alike = [...varying].map(([template, some]) => {
    const row = group.kernels.find((i) => group.cells("template")[i] === template);
    const others = group.parameters.filter((parameter) => !some.includes(parameter));
    const text = parametersText(group, row, others);
    return text ? element("p", {class: "fact"}, `in every ${template} row: ${text}`) : null;
  });
  return {id: "ranking", title: "Ranking", charts: [], content: [
    element("p", {}, "A header sorts; a term narrows: a word, or a comparison with a column or parameter, such as BM=128, ",
      "registers<200 or outcome=ok. Rows without a rank are baselines, or were screened out on their first samples. ▸ opens a row."),
    table.root, ...alike,
    left > 0 ? element("p", {class: "fact"}, `${left} slower configurations are not in this page (--limit).`) : null]};
}

function rowDetails(group, row) {
  const facts = Object.keys(group.rows).filter((name) => !["count", "tied", "kind"].includes(name))
    .map((name) => [name, group.cells(name)[row]]).filter(([, value]) => value !== null);
  const parameters = group.parameters.map(({name, values}) => [name, values[row]]).filter(([, value]) => value !== null);
  const list = (pairs) => element("dl", {class: "facts"}, ...pairs.flatMap(([name, value]) =>
    [element("dt", {title: meaningOf(name)}, name), element("dd", {}, numberText(value))]));
  if (group.cells("kind")[row] === "baseline") return [list(facts)];
  const sets = parameters.map(([name, value]) => `--set ${shellWord(`${name}=${value}`)}`).join(" ");
  const command = `tiletune bench ${shellWord(group.cells("template")[row])} ${sets} --problem ${shellWord(group.problem)}`;
  return [list(parameters), list(facts), element("p", {}, "To run it again:"), element("pre", {}, command)];
}

function resourcesSection(group) {
  const best = bestOf(group);
  const measures = [["occupancy", "occupancy, 0 to 1"], ["registers", "registers per thread"],
    ["spill_bytes", "spilled bytes per thread"]].filter(([name]) => group.column(name));
  if (!measures.length || best === null) return null;
  const hidden = new Set();
  const rules = group.baselines.slice(0, 1).map((i) => ({y: group.time[i]}));
  const chartOf = ([name, title]) => new Chart({id: `scatter-${name}`, tip: rowTip(group),
    label: `Time against ${title}, a point per configuration`,
    describe: () => {
      const points = timedKernels(group).filter((i) => group.cells(name)[i] !== null &&
        !hidden.has(group.cells("template")[i])).map((i) => {
        const {colour, shape} = styleOf(group.templates.indexOf(group.cells("template")[i]));
        const opacity = group.cells("outcome")[i] === "screened_out" ? 0.25 : 0.65;
        return {x: group.cells(name)[i], y: group.time[i], colour, shape, opacity, row: i};
      });
      const ring = hidden.has(group.cells("template")[best]) || group.cells(name)[best] === null ? []
        : [{x: group.cells(name)[best], y: group.time[best], row: best}];
      return scatterSpec(points, rules, {xTitle: title, yTitle: "time, us", height: 280, best: ring});
    }});
  const charts = measures.map(chartOf);
  const chips = group.templates.map((template, place) => {
    const {colour, shape} = styleOf(place);
    const chip = element("button", {type: "button", class: "chip", "aria-pressed": "true", onclick: () => {
      const show = !hidden.delete(template);
      if (show) hidden.add(template);
      chip.setAttribute("aria-pressed", String(!show));
      drawAll(charts);
    }}, symbolImage(shape, colour), template);
    return chip;
  });
  const tables = measures.map(([name, title]) => resourceTable(group, name, title));
  return {id: "resources", short: "Resources", title: "Time against occupancy, registers and spills", charts, content: [
    hasCharts ? element("div", {class: "chips", role: "group", "aria-label": "Templates shown"}, ...chips) : null,
    element("p", {class: "fact"}, "A point is a configuration, pale when it was screened out on its first samples; the ",
      "ring is the best one", rules.length ? `, the dashed line ${group.cells("template")[group.baselines[0]]}.` : "."),
    element("div", {class: "panels"}, ...charts.map((chart, i) => figure(chart, tables[i])))]};
}

// At most twelve ranges of a quantity, with the times of the configurations in each.
function resourceTable(group, name, title) {
  const rows = timedKernels(group).filter((i) => group.cells(name)[i] !== null);
  const [low, high] = extent(rows.map((i) => group.cells(name)[i]));
  const distinct = new Set(rows.map((i) => group.cells(name)[i]));
  const step = distinct.size <= 12 ? 0 : (high - low) / 12;
  const keyOf = (value) => (step === 0 ? value : low + step * Math.min(11, Math.floor((value - low) / step)));
  const ranges = new Map();
  for (const i of rows) {
    const key = keyOf(group.cells(name)[i]);
    ranges.set(key, [...(ranges.get(key) ?? []), group.time[i]]);
  }
  const lines = [...ranges].sort(([a], [b]) => a - b).map(([key, times]) => [
    step === 0 ? numberText(key) : `${threeDigits(key)} to ${threeDigits(key + step)}`, String(times.length),
    threeDigits(extent(times)[0]), threeDigits(median(times))]);
  return plainTable(title, [{text: name, numeric: true}, {text: "configurations", numeric: true},
    {text: "fastest, us", numeric: true}, {text: "median, us", numeric: true}], lines);
}

function heatSection(group) {
  const usable = (template) => (varyingParameters(group).get(template) ?? []).filter(({values}) =>
    new Set(group.kernels.filter((i) => group.cells("template")[i] === template).map((i) => values[i])).size > 1);
  const templates = group.templates.filter((template) => usable(template).length >= 2);
  if (!templates.length) return null;
  const best = bestOf(group);
  const state = {template: Math.max(0, best === null ? 0 : templates.indexOf(group.cells("template")[best])), x: 0, y: 1,
    median: false};
  // The two that matter most come first.
  const parametersOf = (template) => {
    const shares = group.importance.find((one) => one.template === template)?.shares ?? [];
    const placeOf = ({name}) => (shares.findIndex((share) => share.parameter === name) + 1) || Infinity;
    return usable(template).sort((a, b) => placeOf(a) - placeOf(b));
  };
  const controls = element("div", {class: "controls"});
  const table = element("div");
  let shown = null;
  const chart = new Chart({id: "heat", label: "Heat map: the best time for each pair of values of two parameters",
    describe: (width) => heatSpec(shown.cells, shown.xs, shown.ys, {...shown, width}),
    tip: (place) => shown.tips[place]});
  const update = () => {
    const parameters = parametersOf(templates[state.template]);
    shown = heatCells(group, templates[state.template], parameters[state.x], parameters[state.y], state.median);
    const names = parameters.map(({name}) => name);
    const set = (change) => {
      Object.assign(state, change);
      const label = document.activeElement?.closest(".choice")?.textContent;
      update();
      [...controls.children].find((one) => one.textContent === label)?.querySelector("select").focus();
      drawAll([chart]);
    };
    controls.replaceChildren(
      chooser("Template", templates, state.template, (template) => set({template, x: 0, y: 1})),
      chooser("Across", names, state.x, (x) => set(x === state.y ? {x, y: state.x} : {x})),
      chooser("Down", names, state.y, (y) => set(y === state.x ? {y, x: state.y} : {y})),
      chooser("Cell", ["fastest", "median"], state.median ? 1 : 0, (i) => set({median: i === 1})));
    table.replaceChildren(heatTable(shown));
  };
  update();
  return {id: "heat-map", short: "Heat map", title: "Any two parameters", charts: [chart], content: [controls,
    element("p", {class: "fact"}, "A cell is the fastest (or the median) time of all configurations with these two ",
      "values, as a share of the fastest configuration of the template: 100 is the fastest. Empty: none was timed."),
    figure(chart, table)]};
}

const byValue = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b
  : String(a).localeCompare(String(b), "en", {numeric: true}));

function heatCells(group, template, across, down, useMedian) {
  const rows = timedKernels(group).filter((i) => group.cells("template")[i] === template &&
    across.values[i] !== null && down.values[i] !== null);
  const fastest = Math.min(...extent(rows.map((i) => group.time[i])));
  const times = new Map();
  for (const i of rows) {
    const key = JSON.stringify([across.values[i], down.values[i]]);
    if (!times.has(key)) times.set(key, []);
    times.get(key).push(group.time[i]);
  }
  const texts = (values) => [...new Set(rows.map((i) => values[i]))].sort(byValue).map(String);
  const tips = [];
  const cells = [...times].map(([key, some], cell) => {
    const [x, y] = JSON.parse(key).map(String);
    const time = useMedian ? median(some) : extent(some)[0];
    const percent = 100 * fastest / time;
    tips.push([`${across.name}=${x} ${down.name}=${y}`, `${threeDigits(time)} us, ${threeDigits(percent)}%`,
      countText(some.length, "configuration")]);
    return {x, y, percent, cell, text: percent.toFixed(percent < 10 ? 1 : 0), time, count: some.length};
  });
  inkCells(cells);
  return {cells, tips, xs: texts(across.values), ys: texts(down.values), xTitle: across.name, yTitle: down.name};
}

// Text upon cells: viridis is dark in its lower half.
function inkCells(cells) {
  const lowest = Math.min(99, ...cells.map(({percent}) => percent));
  for (const cell of cells) cell.ink = (cell.percent - lowest) / (100 - lowest) > 0.55 ? "#000" : "#fff";
}

function heatTable({cells, xs, ys, xTitle, yTitle}) {
  const found = new Map(cells.map((cell) => [JSON.stringify([cell.x, cell.y]), cell]));
  return plainTable(`Time in us: ${xTitle} across, ${yTitle} down`,
    [{text: yTitle}, ...xs.map((x) => ({text: `${xTitle}=${x}`, numeric: true}))],
    ys.map((y) => [`${y}`, ...xs.map((x) => {
      const cell = found.get(JSON.stringify([x, y]));
      return cell ? threeDigits(cell.time) : "-";
    })]));
}

function importanceSection(group) {
  if (!group.importance.length) return null;
  const names = group.importance.map(({template}) => template || "(between templates)");
  const best = bestOf(group);
  const places = group.importance.map(({template}) => template);
  const own = best === null ? -1 : places.indexOf(group.cells("template")[best]);
  let chosen = Math.max(0, own);
  const table = element("div");
  const chart = new Chart({id: "importance-chart", label: "Share of the variance of log time that each parameter explains",
    tip: (place) => {
      const share = group.importance[chosen].shares[place];
      return [share.parameter, `${threeDigits(100 * share.share)}% of the variance, ${share.values} values`,
        `best on average: ${share.best}; the worst is ${threeDigits(share.worst_to_best)} times as slow`];
    },
    describe: (width) => barSpec(group.importance[chosen].shares.slice(0, 24).map((share, bar) => ({name: share.parameter,
      value: 100 * share.share, text: `${threeDigits(100 * share.share)}%`, colour: kBarColour, bar})),
    {title: "% of the variance of log time", width})});
  const update = () => table.replaceChildren(plainTable("Parameters",
    [{text: "parameter"}, {text: "% of variance", numeric: true}, {text: "values", numeric: true},
      {text: "best on average"}, {text: "worst / best", numeric: true}],
    group.importance[chosen].shares.map((share) => [share.parameter, threeDigits(100 * share.share),
      String(share.values), share.best, threeDigits(share.worst_to_best)])));
  update();
  return {id: "importance", short: "Importance", title: "Which parameters matter", charts: [chart], content: [
    element("div", {class: "controls"}, chooser("Template", names, chosen, (i) => {
      chosen = i;
      update();
      drawAll([chart]);
    })),
    element("p", {class: "fact"}, "First-order analysis of variance: the share of the variance of log time that lies ",
      "between rows with different values of one parameter, adjusted for the number of values (epsilon squared), over all ",
      "timed configurations, screened out ones included. Constraints tie parameters together, so shares overlap and need ",
      "not add up to 100%; what only matters together with another parameter does not show here."),
    figure(chart, table)]};
}

function distributionSection(group) {
  const best = bestOf(group);
  const rows = timedKernels(group);
  if (best === null || rows.length < 2) return null;
  const fastest = group.time[best];
  const marks = group.baselines.map((i) => ({at: group.time[i], name: group.cells("template")[i], colour: kBaselineColour, dash: [6, 3]}));
  const domain = logDomain([...rows.map((i) => group.time[i]), ...marks.map((mark) => mark.at)], 1.1);
  const count = 48;
  const step = Math.log(domain[1] / domain[0]) / count;
  const binOf = (time) => Math.min(count - 1, Math.floor(Math.log(time / domain[0]) / step));
  const ok = new Array(count).fill(0);
  const screened = new Array(count).fill(0);
  for (const i of rows) ++(group.cells("outcome")[i] === "screened_out" ? screened : ok)[binOf(group.time[i])];
  const at = (bin) => domain[0] * Math.exp(step * bin);
  const bins = [];
  for (let bin = 0; bin < count; ++bin) {
    const ends = {low: at(bin), high: at(bin + 1), bin};
    if (ok[bin]) bins.push({...ends, from: 0, to: ok[bin], colour: kBarColour});
    if (screened[bin]) bins.push({...ends, from: ok[bin], to: ok[bin] + screened[bin], colour: "#9a9a9a"});
  }
  const rules = [{at: fastest, name: "best", colour: kBestColour, dash: [1, 0]}, ...marks]
    .map((rule, i) => ({...rule, level: 4 + 14 * i}));
  const noise = group.noise_floor_percent;
  const band = noise === null ? [] : [{low: fastest, high: fastest * (1 + noise / 100)}];
  const chart = new Chart({id: "distribution-chart", label: `Distribution of the times of ${rows.length} configurations`,
    tip: (bin) => [`${threeDigits(at(bin))} to ${threeDigits(at(bin + 1))} us`, `${ok[bin]} ok, ${screened[bin]} screened out`],
    describe: () => distributionSpec(bins, rules, band, {xTitle: "time, us (log scale)", domain})});
  const within = (factor) => rows.filter((i) => group.time[i] <= factor * fastest).length;
  const lines = [1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 5, 10].map((factor) => [`within ${Math.round(100 * (factor - 1))}%`,
    String(within(factor)), `${threeDigits(100 * within(factor) / rows.length)}%`]);
  const legend = [`best ${threeDigits(fastest)} us (solid)`,
    ...marks.map((mark) => `${mark.name} ${threeDigits(mark.at)} us (dashed)`),
    noise === null ? "no noise floor is known here: it takes finals" : `noise floor ${threeDigits(noise)}% (band beside the best)`,
    "blue: measured in full; grey: screened out"];
  return {id: "distribution", title: "Distribution", charts: [chart], content: [
    element("p", {class: "fact"}, legend.join("; "), "."),
    figure(chart, plainTable("Configurations near the best", [{text: "time"}, {text: "configurations", numeric: true},
      {text: "share", numeric: true}], lines))]};
}

function rooflineSection(group, groups) {
  const ceilings = group.ceilings;
  const intensity = group.cells("arithmetic_intensity");
  const tflops = group.cells("tflops");
  const rows = timedKernels(group).filter((i) => intensity[i] > 0 && tflops[i] > 0);
  if (!ceilings || !rows.length) return null;
  const kTeraPerGiga = 1e-3;
  const memory = (x) => kTeraPerGiga * ceilings.copy_gbs * x;
  const bests = groups.filter((one) => one.gpu === group.gpu && one.source === group.source && bestOf(one) !== null)
    .map((one) => ({problem: one.problem, own: one === group, x: one.cells("arithmetic_intensity")[bestOf(one)],
      y: one.cells("tflops")[bestOf(one)]})).filter(({x, y}) => x > 0 && y > 0);
  const xs = [...rows.map((i) => intensity[i]), ...bests.map(({x}) => x)];
  const ridge = ceilings.ffma_tflops / (kTeraPerGiga * ceilings.copy_gbs);
  const domain = logDomain([...xs, ridge / 4, ridge * 8], 1.6);
  const range = logDomain([...rows.map((i) => tflops[i]), ...bests.map(({y}) => y), ceilings.ffma_tflops], 1.5);
  const roofs = [{x: domain[0], y: memory(domain[0]), x2: ridge, y2: ceilings.ffma_tflops},
    {x: ridge, y: ceilings.ffma_tflops, x2: domain[1], y2: ceilings.ffma_tflops}];
  const chart = new Chart({id: "roofline-chart", label: "Roofline: throughput against arithmetic intensity, under the measured ceilings",
    tip: (value) => (typeof value === "number" ? rowTip(group)(value) : value.split("\n")),
    describe: () => {
      const points = rows.map((i) => {
        const {colour, shape} = styleOf(group.templates.indexOf(group.cells("template")[i]));
        return {x: intensity[i], y: tflops[i], colour, shape, opacity: 0.35, size: 22, row: i};
      });
      for (const {problem, own, x, y} of bests) {
        points.push({x, y, colour: own ? kBestColour : colourOf("--quiet"), shape: "circle", opacity: 0.9, size: 60,
          row: `best of ${problem}\n${threeDigits(y)} TFLOP/s, ${threeDigits(x)} operations per byte`});
      }
      const labels = [{x: domain[1], y: ceilings.ffma_tflops, dx: -4, dy: -6, align: "right",
        name: `${threeDigits(ceilings.ffma_tflops)} TFLOP/s of FP32 multiply-adds`},
      {x: ridge, y: range[0], dx: 4, dy: -8, align: "left", name: `balance at ${threeDigits(ridge)} operations per byte`}];
      return rooflineSpec(points, roofs, labels, {domain, range});
    }});
  const table = plainTable("The best of each problem under the ceilings", [{text: "problem"},
    {text: "operations per byte", numeric: true}, {text: "TFLOP/s", numeric: true}, {text: "lowest ceiling, TFLOP/s", numeric: true},
    {text: "% of it", numeric: true}], bests.map(({problem, x, y}) => {
    const ceiling = Math.min(memory(x), ceilings.ffma_tflops);
    return [problem, threeDigits(x), threeDigits(y), threeDigits(ceiling), threeDigits(100 * y / ceiling)];
  }));
  return {id: "roofline", title: "Roofline", charts: [chart], content: [
    element("p", {class: "fact"}, `Ceilings as measured on this GPU: ${threeDigits(ceilings.ffma_tflops)} TFLOP/s of FP32 `,
      `multiply-adds, ${threeDigits(kTeraPerGiga * ceilings.copy_gbs)} TB/s of copy in device memory. Operations per byte `,
      "count every buffer once. Large points are the best of each problem, the coloured one this problem's."),
    figure(chart, table)]};
}

function ladderSection(group) {
  if (!group.ladder?.length) return null;
  const value = (rung) => rung.tflops ?? 1 / rung.time_us;
  const hasTflops = group.ladder.every((rung) => rung.tflops !== null);
  const baselines = group.ladder.filter((rung) => rung.kind === "baseline").map(value);
  const chart = new Chart({id: "ladder-chart", label: "The best configuration of each template, in the order of the ladder",
    tip: (i) => [group.ladder[i].template, group.ladder[i].parameters, `${threeDigits(group.ladder[i].time_us)} us`,
      `${threeDigits(group.ladder[i].speedup_over_first)} times the first, ${threeDigits(group.ladder[i].speedup_over_previous)} times the one before`],
    describe: (width) => barSpec(group.ladder.map((rung, bar) => ({name: rung.template, value: value(rung), bar,
      text: hasTflops ? threeDigits(rung.tflops) : `${threeDigits(rung.time_us)} us`,
      colour: rung.kind === "baseline" ? kBaselineColour : kBarColour})),
    {title: hasTflops ? "TFLOP/s" : "launches per us", width, rule: baselines.length ? Math.max(...baselines) : null})});
  return {id: "ladder", title: "Ladder", charts: [chart], content: [
    element("p", {class: "fact"}, "The best configuration of each template, in the config's order",
      baselines.length ? "; the dashed line is the faster baseline." : "."),
    figure(chart, plainTable("Ladder", [{text: "template"}, {text: "parameters", wide: true}, {text: "time, us", numeric: true},
      {text: "TFLOP/s", numeric: true}, {text: "over the first", numeric: true}, {text: "over the one before", numeric: true}],
    group.ladder.map((rung) => [rung.template, rung.parameters, threeDigits(rung.time_us), threeDigits(rung.tflops),
      threeDigits(rung.speedup_over_first), threeDigits(rung.speedup_over_previous)])))]};
}

function outcomesSection(group) {
  if (!group.outcomes.length) return null;
  const total = group.outcomes.reduce((sum, {count}) => sum + count, 0);
  const counts = plainTable("Outcomes of all recorded rows", [{text: "outcome"}, {text: "rows", numeric: true},
    {text: "share", numeric: true}, {text: "meaning"}], group.outcomes.map(({outcome, count}) =>
    [outcome, String(count), `${threeDigits(100 * count / total)}%`, kOutcomeMeanings[outcome] ?? ""]));
  const failures = group.failures;
  const text = (name) => ({name, title: name, numeric: name === "count", wide: name === "reason" || name === "example",
    value: (row) => failures[row][name], text: (row) => String(failures[row][name] || "-")});
  const content = [counts];
  if (failures.length) {
    const columns = ["outcome", "count", "template", "reason", "example"].map(text);
    content.push(new DataTable({id: "failures", columns, rows: [...failures.keys()], details: null,
      fields: new Map(columns.map(({name, value}) => [name, value])), caption: "What did not run, and why",
      hint: "refused shared memory"}).root);
    content.push(element("p", {class: "fact"}, "Rows whose reasons differ in their numbers alone stand together, with the ",
      "reason and the parameters of the first."));
  } else {
    content.push(element("p", {class: "fact"}, "Nothing failed."));
  }
  if (group.more_failures) content.push(element("p", {class: "fact"},
    `${group.more_failures} more rows have other reasons: tiletune rank --outcome OUTCOME lists them.`));
  return {id: "outcomes", short: "Outcomes", title: "What did not run", charts: [], content};
}
