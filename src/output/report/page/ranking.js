// The table of all configurations that have a time.

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
  const resultOf = (row) => (isUnverified(group, row) ? "unverified" : "verified");
  const columns = [
    {...column("rank", "1= and 1=: cannot be distinguished; none: see above"), text: rankText},
    column("template", meaningOf("template"), false),
    {name: "parameters", title: "tuning parameters that vary", wide: true, spare: true, value: shownParameters, text: shownParameters},
    {name: "result", title: "unverified: the result was compared with nothing", numeric: false,
      value: resultOf, text: resultOf},
    {...column(timeName(group), group.source === "imported" ? "time of one launch as the file has it, us" : undefined), value: (row) => group.time[row], text: (row) => threeDigits(group.time[row])},
    {name: "ci_us", title: "95% interval of the median", numeric: true, value: (row) => group.cells("ci_low_us")[row],
      text: (row) => (group.cells("ci_low_us")[row] === null ? "-"
        : `${threeDigits(group.cells("ci_low_us")[row])}..${threeDigits(group.cells("ci_high_us")[row])}`)},
    column(isOfMemory(group) ? "gbs" : "tflops"), column("percent_of_baseline"),
    column(isOfMemory(group) ? "percent_of_copy" : group.column("percent_of_ceiling") ? "percent_of_ceiling" : "percent_of_peak"),
    column("registers"),
    column("spill_bytes"), column("occupancy"), column("occupancy_limiter", undefined, false),
    column("outcome", undefined, false),
  ].filter(({name}) => name !== "result" || rows.some((row) => isUnverified(group, row)))
    .filter(({name}) => name === "parameters" || name === "result" || name === timeName(group)
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
    return text ? element("p", {class: "fact"}, `in every ${template} row${left > 0 ? " shown" : ""}: ${text}`) : null;
  });
  return {id: "ranking", title: "Ranking", charts: [], content: [
    element("p", {}, "A header sorts; a term narrows: a word, or a comparison with a column or parameter, such as BM=128, ",
      "registers<200 or outcome=ok. ", ranklessText(group), "▸ opens a row."),
    table.root, ...alike,
    left > 0 ? element("p", {class: "fact"}, `${left} slower configurations are not in this page (--limit).`) : null]};
}

function ranklessText(group) {
  const reasons = [group.baselines.length ? "are baselines" : null,
    hasScreened(group) ? "were screened out on their first samples" : null].filter((text) => text !== null);
  return reasons.length ? `Rows without a rank ${reasons.join(", or ")}. ` : "";
}

function rowDetails(group, row) {
  const facts = Object.keys(group.rows).filter((name) => !["count", "tied", "kind"].includes(name))
    .map((name) => [name, group.cells(name)[row]]).filter(([, value]) => value !== null);
  const parameters = group.parameters.map(({name, values}) => [name, values[row]]).filter(([, value]) => value !== null);
  const list = (pairs) => element("dl", {class: "facts"}, ...pairs.flatMap(([name, value]) =>
    [element("dt", {title: meaningOf(name)}, name), element("dd", {}, numberText(value))]));
  if (group.cells("kind")[row] === "baseline") return [list(facts)];
  if (group.source === "imported") return [list(parameters), list(facts)];  // the kernel is not here
  const sets = parameters.map(([name, value]) => `--set ${shellWord(`${name}=${value}`)}`).join(" ");
  const command = `tiletune bench ${shellWord(group.cells("template")[row])} ${sets} --problem ${shellWord(group.problem)}`;
  return [list(parameters), list(facts), element("p", {}, "To run it again:"), element("pre", {}, command)];
}
