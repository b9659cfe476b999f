// What became of all rows, and why some did not run.

const kOutcomeMeanings = {
  ok: "ran", refused: "cannot run on this GPU", compile_failed: "the compiler refused it",
  compile_timeout: "compiling took too long", compile_crashed: "the compiler crashed",
  launch_failed: "the driver refused the launch", wrong_result: "the result was wrong",
  unstable: "the result changed from launch to launch", implausible: "faster than this GPU can be", out_of_bounds: "wrote outside its buffers", timeout: "did not end in time",
  crashed: "crashed its worker process", screened_out: "dropped as clearly slower than the leader",
  not_recorded: "the recording that is replayed does not hold it",
};

// For rows that others recorded: what their file says, since how their tool came to know is not known here.
const kImportedMeanings = {
  ok: "the file has a time", refused: "refused before it was compiled or launched", compile_failed: "did not compile",
  launch_failed: "could not be launched, or failed as it ran", timeout: "took too long",
};

function outcomeMeaning(group, {outcome, count}) {
  if (group.source === "imported") return kImportedMeanings[outcome] ?? kOutcomeMeanings[outcome] ?? "";
  if (outcome !== "ok") return kOutcomeMeanings[outcome] ?? "";
  if (group.source === "predicted") return "compiled, and its time was predicted; it did not run";
  if (group.source === "replayed") return "the recording has a time";
  return group.verified === count ? "ran, and the result was right" : "ran; not every result was compared";
}

function outcomesSection(group) {
  if (!group.outcomes.length) return null;
  const total = group.outcomes.reduce((sum, {count}) => sum + count, 0);
  const counts = plainTable("Outcomes of all recorded rows", [{text: "outcome"}, {text: "rows", numeric: true},
    {text: "share", numeric: true}, {text: "meaning"}], group.outcomes.map((of) =>
    [of.outcome, String(of.count), `${threeDigits(100 * of.count / total)}%`, outcomeMeaning(group, of)]));
  const failures = group.failures;
  const text = (name) => ({name, title: name, numeric: name === "count", wide: name === "reason" || name === "example",
    value: (row) => failures[row][name], text: (row) => String(failures[row][name] || "-")});
  const content = [counts];
  if (failures.length) {
    const columns = ["outcome", "count", "template", "reason", "example"].map(text);
    content.push(new DataTable({id: "failures", columns, rows: [...failures.keys()], details: null,
      fields: new Map(columns.map(({name, value}) => [name, value])), caption: "What did not run, and why",
      hint: "refused shared memory"}).root);
    content.push(element("p", {class: "fact"}, "Rows whose reasons differ only in their numbers are grouped, with the ",
      "reason and the parameters of the first."));
  } else {
    content.push(element("p", {class: "fact"}, "No row says that something failed."));
  }
  if (group.more_failures) content.push(element("p", {class: "fact"},
    `${group.more_failures} more rows have other reasons: tiletune rank --outcome OUTCOME lists them.`));
  return {id: "outcomes", short: "Outcomes", title: "What did not run", charts: [], content};
}
