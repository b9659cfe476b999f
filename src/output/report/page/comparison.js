// Several GPUs: what `tiletune compare` computes of them, for the problem of the chosen group.

function comparisonSection(group, groups) {
  const problem = report.comparison?.problems.find((one) => isOf(group, one) && one.sides.length > 1);
  if (!problem) return null;
  const content = [];
  if (report.comparison.mixes_sources) {
    content.push(element("p", {class: "banner"}, "Times of different sources are shown side by side: ",
      problem.sides.map(({side, source}) => `${side} ${source}`).join(", ")));
  }
  content.push(...problem.notes.map((note) => element("p", {class: "fact"}, note)));
  const matrix = portabilityChart(problem);
  content.push(element("p", {class: "fact"}, "A row is a configuration, the best of one GPU or a compromise; a cell the ",
    "fastest time on that GPU / the configuration's time, in percent. Empty: it has no time there."),
  figure(matrix, portabilityTable(problem)), pairsTable(problem));
  const pair = pairsFigure(problem, groups);
  if (pair) content.push(...pair.content);
  return {id: "gpus", short: "GPUs", title: "On several GPUs", content, charts: [matrix, ...(pair ? pair.charts : [])]};
}

// A problem's conditions end with the state of the L2 cache, which groups that were not timed do not have.
function isOf(group, problem) {
  const conditions = group.cache || !problem.cache ? group.conditions
    : [group.conditions, problem.cache].filter((text) => text !== "").join(", ");
  return group.problem === problem.problem && conditions === problem.conditions;
}

const kCompromises = {pennycook: "compromise: largest Pennycook's metric", minimum: "compromise: largest minimum"};
const nameOfConfiguration = ({best_of: side, compromise}) => (side ? `best of ${side}` : kCompromises[compromise] ?? compromise);
const percentText = (share) => (share === null ? "-" : `${threeDigits(100 * share)}%`);
const ownSide = (configuration, side) => !configuration.best_of || configuration.best_of === side;
const unverifiedMark = (configuration) =>
  (configuration.on.some(({side, verified}) => verified === false && ownSide(configuration, side)) ? " (unverified)" : "");
const configurationText = (configuration) => {
  const values = Object.entries(configuration.parameters ?? {}).map(([name, value]) => `${name}=${value}`);
  return `${[configuration.template, ...values].join(" ")}${unverifiedMark(configuration)}`;
};

function portabilityChart(problem) {
  const cells = [];
  const tips = [];
  const names = problem.sides.map(({side}) => side);
  for (const configuration of problem.configurations) {
    for (const {side, efficiency, time_us: time, known} of configuration.on) {
      if (efficiency === null || !names.includes(side)) continue;
      const percent = 100 * efficiency;
      tips.push([`${nameOfConfiguration(configuration)}, on ${side}`, configurationText(configuration),
        time === null ? known : `${threeDigits(time)} us, ${threeDigits(percent)}% (${known})`]);
      cells.push({x: side, y: nameOfConfiguration(configuration), percent, cell: cells.length, text: percent.toFixed(0)});
    }
  }
  inkCells(cells);
  return new Chart({id: "portability", label: "How fast the best configuration of each GPU is on the others",
    tip: (place) => tips[place],
    describe: (width) => heatSpec(cells, names, [...new Set(problem.configurations.map(nameOfConfiguration))],
      {xTitle: "on", yTitle: "configuration", width})});
}

function portabilityTable(problem) {
  const names = problem.sides.map(({side}) => side);
  return plainTable("Efficiency", [{text: "configuration"}, ...names.map((text) => ({text, numeric: true})),
    {text: "harmonic mean", numeric: true}, {text: "minimum", numeric: true}, {text: "Pennycook's metric", numeric: true},
    {text: "template and parameters", wide: true, spare: true}],
  problem.configurations.map((configuration) => {
    const efficiency = new Map(configuration.on.map((on) => [on.side, on.efficiency]));
    return [nameOfConfiguration(configuration), ...names.map((name) => percentText(efficiency.get(name) ?? null)),
      percentText(configuration.harmonic_mean), percentText(configuration.minimum), percentText(configuration.pennycook),
      configurationText(configuration)];
  }));
}

function pairsTable(problem) {
  return plainTable("What two GPUs have in common", [{text: "GPUs"}, {text: "configurations", numeric: true},
    {text: "Spearman", numeric: true, title: "correlation of the ranks of their times"},
    {text: "shared of the fastest 1%", numeric: true}],
  problem.pairs.map((pair) => [pair.sides.join(", "), String(pair.common), threeDigits(pair.spearman),
    `${numberText(pair.top_percent_shared)} of ${pair.top_percent}`]));
}

// The times of the configurations that two GPUs share, of those that are in the page.
function pairsFigure(problem, groups) {
  const groupOf = (name) => {
    const side = problem.sides.find((one) => one.side === name);
    return groups.find((one) => side && isOf(one, problem) && one.gpu === side.gpu && one.source === side.source);
  };
  const pairs = problem.pairs.filter(({common, sides}) => common > 1 && sides.every(groupOf));
  if (!pairs.length) return null;
  let shown = null;
  const table = element("div");
  const show = (place) => {
    const {sides} = pairs[place];
    const [x, y] = sides.map((side) => fastestRows(groupOf(side)));
    shown = {sides, first: groupOf(sides[0]), points: pairedPoints(x, y)};
    table.replaceChildren(pointsTable(shown));
  };
  show(0);
  const chart = new Chart({id: "pairs", label: "Time on one GPU against time on another, a point per configuration",
    tip: (place) => pointTip(shown, shown.points[place]),
    describe: () => pairSpec(shown.points.map((point, place) => ({...point, place,
      ...styleOf(shown.first.templates.indexOf(shown.first.cells("template")[point.row]))})),
    {xTitle: `time on ${shown.sides[0]}, us`, yTitle: `time on ${shown.sides[1]}, us`})});
  return {charts: [chart], content: [
    pairs.length > 1 ? element("div", {class: "controls"}, chooser("GPUs", pairs.map(({sides}) => sides.join(", ")), 0, (place) => {
      show(place);
      drawAll([chart]);
    })) : null, figure(chart, table)]};
}

function pointTip({sides, first}, {row, x, y}) {
  return [first.cells("template")[row], parametersText(first, row), `${threeDigits(x)} us on ${sides[0]}`,
    `${threeDigits(y)} us on ${sides[1]}`].filter((line) => line !== "");
}

function pointsTable({sides, first, points}) {
  const time = (name, of) => ({name: `${name}, us`, numeric: true, value: of, text: (i) => threeDigits(of(i))});
  const columns = [
    {name: "template", value: (i) => first.cells("template")[points[i].row]},
    {name: "parameters", wide: true, value: (i) => parametersText(first, points[i].row)},
    time(sides[0], (i) => points[i].x), time(sides[1], (i) => points[i].y),
    {name: "ratio", title: `time on ${sides[1]} / time on ${sides[0]}`, numeric: true,
      value: (i) => points[i].y / points[i].x, text: (i) => threeDigits(points[i].y / points[i].x)},
  ].map((column) => ({text: column.value, ...column}));
  const fields = new Map(columns.map(({name, value}) => [name.toLowerCase(), value]));
  for (const {name, values} of first.parameters) fields.set(name.toLowerCase(), (i) => values[points[i].row]);
  return new DataTable({id: "pairs-table", columns, rows: [...points.keys()], fields, details: null,
    caption: `Configurations on ${sides.join(" and ")}`, hint: "ratio<1"}).root;
}

// A point for each configuration that ran on both sides, with the row of the first.
function pairedPoints(first, second) {
  return [...first].filter(([key]) => second.has(key)).map(([key, {row, time}]) => ({x: time, y: second.get(key).time, row}));
}

// By configuration, the fastest of its rows.
function fastestRows(group) {
  const fastest = new Map();
  for (const row of timedKernels(group)) {
    const key = configurationKey(group, row);
    const time = group.time[row];
    if (!fastest.has(key) || time < fastest.get(key).time) fastest.set(key, {row, time});
  }
  return fastest;
}

// Equal values have equal keys, in whatever order and type a file lists them.
function configurationKey(group, row) {
  const values = group.parameters.map(({name, values}) => [name, values[row]])
    .filter(([, value]) => value !== null);
  const numbers = values.map(([name, value]) => [name, typeof value === "boolean" ? Number(value) : value]);
  return JSON.stringify([group.cells("template")[row], numbers.sort(([a], [b]) => (a < b ? -1 : 1))]);
}
