// Several GPUs: what `tiletune compare` computes of them, for the problem of the chosen group.

function comparisonSection(group, groups) {
  const problem = report.comparison?.problems.find((one) => one.problem === group.problem &&
    (one.conditions.startsWith(group.conditions) || group.conditions.startsWith(one.conditions)) && one.sides.length > 1);
  if (!problem) return null;
  const content = [];
  if (report.comparison.mixes_sources) {
    content.push(element("p", {class: "banner"}, "Times of different sources stand side by side: ",
      problem.sides.map(({side, source}) => `${side} ${source}`).join(", ")));
  }
  const matrix = portabilityChart(problem);
  content.push(element("p", {class: "fact"}, "A row is a configuration, the best of one GPU or a compromise; a cell the ",
    "fastest time of that GPU by the configuration's, 100 being the fastest. Empty: it was not measured there."),
  figure(matrix, portabilityTable(problem)), pairsTable(problem));
  const pair = pairChart(problem, groups);
  if (pair) content.push(...pair.content);
  return {id: "gpus", short: "GPUs", title: "On several GPUs", content, charts: [matrix, ...(pair ? pair.charts : [])]};
}

const nameOfConfiguration = ({best_of: side, compromise}) => (side ? `best of ${side}` : compromise);
const percentText = (share) => (share === null ? "-" : `${threeDigits(100 * share)}%`);
const configurationText = ({template, parameters}) =>
  `${template} ${Object.entries(parameters ?? {}).map(([name, value]) => `${name}=${value}`).join(" ")}`;

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
    `${pair.top_percent_shared} of ${pair.top_percent}`]));
}

// The times of the configurations that two GPUs share.
function pairChart(problem, groups) {
  const groupOf = (name) => {
    const side = problem.sides.find((one) => one.side === name);
    return groups.find((one) => side && one.gpu === side.gpu && one.problem === problem.problem && one.source === side.source);
  };
  const pairs = problem.pairs.filter(({common, sides}) => common > 1 && sides.every(groupOf));
  if (!pairs.length || !hasCharts) return null;
  let chosen = 0;
  const chart = new Chart({id: "pairs", label: "Time on one GPU against time on another, a point per configuration",
    tip: (row) => rowTip(groupOf(pairs[chosen].sides[0]))(row),
    describe: () => {
      const [first, second] = pairs[chosen].sides;
      return pairSpec(pairedPoints(groupOf(first), groupOf(second)),
        {xTitle: `time on ${first}, us`, yTitle: `time on ${second}, us`});
    }});
  return {charts: [chart], content: [
    pairs.length > 1 ? element("div", {class: "controls"}, chooser("GPUs", pairs.map(({sides}) => sides.join(", ")), 0, (place) => {
      chosen = place;
      drawAll([chart]);
    })) : null, element("figure", {}, chart.root)]};
}

function pairedPoints(first, second) {
  const keyOf = (group, row) => `${group.cells("template")[row]} ${parametersText(group, row)}`;
  const times = new Map(timedKernels(second).map((row) => [keyOf(second, row), second.time[row]]));
  return timedKernels(first).filter((row) => times.has(keyOf(first, row))).map((row) => ({
    ...styleOf(first.templates.indexOf(first.cells("template")[row])), x: first.time[row],
    y: times.get(keyOf(first, row)), row}));
}
