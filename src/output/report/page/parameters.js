// What the parameters do to the time: any two of them, and how much each explains.

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
    element("p", {class: "fact"}, "A cell is the fastest (or the median) time of the configurations with these two ",
      `values${shownText(group)}, as a share of the fastest configuration of the template: 100 is the fastest. Empty: none has a time.`),
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
      `configurations ${timesOf(group).few}${hasScreened(group) ? ", screened out ones included" : ""}. `,
      "Constraints tie parameters together, so shares overlap and need ",
      "not add up to 100%; what only matters together with another parameter does not show here."),
    figure(chart, table)]};
}
