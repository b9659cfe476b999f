// What the sections ask of a group of rows. Each section is a function of a group that gives {id, title, content, charts},
// and `short` where the title is long for a link, or null where the group has nothing for it.

const timeName = (group) => (group.predicted ? "predicted_us" : "median_us");
const meaningOf = (name) => report.columns.find((column) => column.name === name)?.meaning ?? name;
const bestOf = (group) => group.kernels.find((i) => group.cells("rank")[i] !== null) ?? null;
// Timed on a GPU, and compared with nothing.
const isUnverified = (group, row) => group.source === "measured" && group.cells("median_us")[row] !== null
  && group.cells("relative_error")[row] === null;
const timedKernels = (group) => group.kernels.filter((i) => group.time[i] > 0);

// What a time is depends on where the rows come from: `few` stands before "configurations", `best` names the best one's time.
const kTimesOf = {
  measured: {few: "timed", best: "median of the best", bar: "measured in full"},
  predicted: {few: "with a predicted time", best: "predicted time of the best", bar: "predicted"},
  replayed: {few: "with a recorded time", best: "recorded time of the best", bar: "replayed"},
  imported: {few: "with a recorded time", best: "recorded time of the best", bar: "imported"},
};
const timesOf = (group) => kTimesOf[group.source];
const hasScreened = (group) => group.outcomes.some(({outcome}) => outcome === "screened_out");

// Says which rows a chart or table shows if the page lacks some.
const shownText = (group) => (group.timed > group.shown ? ` (the fastest ${group.shown} of ${group.timed}; --limit 0 shows all)` : "");

const rowTip = (group) => (row) => {
  const lines = [`${group.cells("template")[row]}`, parametersText(group, row),
    `${threeDigits(group.time[row])} us`, isUnverified(group, row) ? "unverified" : ""];
  const [rate, unit] = isOfMemory(group) ? ["gbs", "GB/s"] : ["tflops", "TFLOP/s"];
  if (group.cells(rate)[row]) lines[2] += `, ${threeDigits(group.cells(rate)[row])} ${unit}`;
  for (const name of ["registers", "occupancy", "spill_bytes"])
    if (group.cells(name)[row] !== null) lines.push(`${name} ${numberText(group.cells(name)[row])}`);
  return lines.filter((line) => line !== "");
};

// The rate that says how good a group's rows are: of device memory where that bounds them, else of arithmetic.
const isOfMemory = (group) => group.column("gbs") !== null && group.kernels.some((row) => group.cells("bound")[row] === "memory")
  && group.kernels.every((row) => group.cells("bound")[row] !== "compute");

// A chart with the same numbers as a table, which stands open where there are no charts.
function figure(chart, table, ...rest) {
  return element("figure", {}, ...(hasCharts ? [chart.root] : []), ...rest,
    element("details", {open: !hasCharts}, element("summary", {}, "The same as a table"), table));
}
