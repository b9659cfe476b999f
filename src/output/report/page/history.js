// How the best time fell as configurations were evaluated, over their number and over what they cost.

function historySection(group) {
  const history = group.history;
  if (!history) return null;
  const steps = [...history.best_us.keys()];
  const templates = unpackColumn(history.template, steps.length);
  const last = history.best_us[steps.length - 1];
  const percent = (step) => 100 * last / history.best_us[step];
  const rules = group.baselines.slice(0, 1).map((i) => ({y: group.time[i]}));
  const tip = (step) => [`${threeDigits(history.best_us[step])} us, ${threeDigits(percent(step))}%`, templates[step],
    history.parameters[step], `evaluation ${history.evaluation[step]}`,
    history.at_s[step] > 0 ? `after ${threeDigits(history.at_s[step])} s` : ""].filter((line) => line !== "");
  const chartOf = (name, what, at, end) => new Chart({id: `history-${name}`, tip,
    label: `The best time so far over ${what}`,
    describe: () => historySpec([...steps.map((step) => ({x: at[step], y: history.best_us[step], step})),
      {x: end, y: last, step: null}].filter(({x}) => x > 0), rules, {xTitle: `${what} (log scale)`, yTitle: "best time, us"})});
  const charts = [chartOf("evaluations", "evaluations", history.evaluation, history.evaluations)];
  // What others recorded may say nothing of its cost.
  if (history.cost_s > 0 && history.at_s.some((seconds) => seconds > 0))
    charts.push(chartOf("seconds", "seconds of compiling and measuring", history.at_s, history.cost_s));
  const table = plainTable("The best time so far", [{text: "evaluation", numeric: true}, {text: "seconds", numeric: true},
    {text: "best, us", numeric: true}, {text: "% of the last", numeric: true}, {text: "template"},
    {text: "parameters", wide: true, spare: true}], steps.map((step) => [String(history.evaluation[step]),
    history.at_s[step] > 0 ? threeDigits(history.at_s[step]) : "-", threeDigits(history.best_us[step]),
    threeDigits(percent(step)), templates[step], history.parameters[step]]));
  return {id: "history", short: "History", title: "How the best time fell", charts, content: [
    element("p", {class: "fact"}, historyText(group)),
    hasCharts ? element("div", {class: "panels"}, ...charts.map(({root}) => root)) : null,
    element("details", {open: !hasCharts}, element("summary", {}, "The same as a table"), table)]};
}

function historyText(group) {
  const {history} = group;
  const parts = [countText(history.evaluations, "evaluation")];
  if (history.cost_s > 0) parts[0] += `, ${threeDigits(history.cost_s)} s of compiling and measuring`;
  if (history.without_cost) parts.push(`${countText(history.without_cost, "row")} without a recorded cost`);
  const lines = [`${parts.join("; ")}, in the order in which the rows were recorded. An evaluation counts whatever became of it.`];
  if (group.source === "measured") lines.push("Times are those before any finals.");
  if (history.steps > history.best_us.length)
    lines.push(`The curve has ${history.best_us.length} of ${history.steps} steps.`);
  if (group.baselines.length) lines.push(`The dashed line is ${group.cells("template")[group.baselines[0]]}.`);
  return lines.join(" ");
}
