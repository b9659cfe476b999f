// How times lie: against what a configuration takes of a multiprocessor, and among themselves.

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
  const tables = measures.map(([name, title]) => resourceTable(group, name, title + shownText(group)));
  return {id: "resources", short: "Resources", title: "Time against occupancy, registers and spills", charts, content: [
    hasCharts ? element("div", {class: "chips", role: "group", "aria-label": "Templates shown"}, ...chips) : null,
    element("p", {class: "fact"}, `A point is a configuration${shownText(group)}`,
      hasScreened(group) ? ", pale when it was screened out on its first samples" : "", "; the ring is the best one", rules.length ? `, the dashed line ${group.cells("template")[group.baselines[0]]}.` : "."),
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
    if (!ranges.has(key)) ranges.set(key, []);
    ranges.get(key).push(group.time[i]);
  }
  const lines = [...ranges].sort(([a], [b]) => a - b).map(([key, times]) => [
    step === 0 ? numberText(key) : `${threeDigits(key)} to ${threeDigits(key + step)}`, String(times.length),
    threeDigits(extent(times)[0]), threeDigits(median(times))]);
  return plainTable(title, [{text: name, numeric: true}, {text: "configurations", numeric: true},
    {text: "fastest, us", numeric: true}, {text: "median, us", numeric: true}], lines);
}

function distributionSection(group) {
  const best = bestOf(group);
  const rows = timedKernels(group);
  if (best === null || rows.length < 2) return null;
  const fastest = group.time[best];
  const marks = group.baselines.map((i) => ({at: group.time[i], name: group.cells("template")[i], colour: kBaselineColour, dash: [6, 3]}));
  const leftOut = [...group.times_left_out.ok, ...group.times_left_out.screened_out].map(([us]) => us);
  const domain = logDomain([...rows.map((i) => group.time[i]), ...leftOut, ...marks.map((mark) => mark.at)], 1.1);
  const count = 48;
  const step = Math.log(domain[1] / domain[0]) / count;
  const binOf = (time) => Math.min(count - 1, Math.floor(Math.log(time / domain[0]) / step));
  const ok = new Array(count).fill(0);
  const screened = new Array(count).fill(0);
  for (const i of rows) ++(group.cells("outcome")[i] === "screened_out" ? screened : ok)[binOf(group.time[i])];
  for (const [us, count] of group.times_left_out.ok) ok[binOf(us)] += count;
  for (const [us, count] of group.times_left_out.screened_out) screened[binOf(us)] += count;
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
  const chart = new Chart({id: "distribution-chart", label: `Distribution of the times of ${group.timed} configurations`,
    tip: (bin) => [`${threeDigits(at(bin))} to ${threeDigits(at(bin + 1))} us`,
      `${ok[bin]} ${timesOf(group).bar}${hasScreened(group) ? `, ${screened[bin]} screened out` : ""}`],
    describe: () => distributionSpec(bins, rules, band, {xTitle: "time, us (log scale)", domain})});
  const lines = group.near_best.map(({percent, count}) => [`within ${percent}%`, String(count),
    `${threeDigits(100 * count / group.timed)}%`]);
  const legend = [`best ${threeDigits(fastest)} us (solid)`,
    ...marks.map((mark) => `${mark.name} ${threeDigits(mark.at)} us (dashed)`),
    noise === null ? group.source === "measured" ? "no noise floor is known here: it takes finals" : null
      : `noise floor ${threeDigits(noise)}% (band beside the best)`,
    `blue: ${timesOf(group).bar}${hasScreened(group) ? "; grey: screened out" : ""}`].filter((text) => text !== null);
  return {id: "distribution", title: "Distribution", charts: [chart], content: [
    element("p", {class: "fact"}, legend.join("; "), "."),
    figure(chart, plainTable("Configurations near the best", [{text: "time"}, {text: "configurations", numeric: true},
      {text: "share", numeric: true}], lines))]};
}
