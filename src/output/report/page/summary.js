// The best of a group, where its numbers come from, and the best of every problem.

function summarySection(group) {
  const best = bestOf(group);
  const content = [];
  if (group.banner) content.push(element("p", {class: "banner"}, group.banner));
  if (best !== null) content.push(...winner(group, best));
  else content.push(element("p", {}, "No configuration has a time; see what did not run, below."));
  for (const line of group.lines) content.push(element("p", {class: "fact"}, line));
  content.push(provenance(group));
  return {id: "summary", title: "Summary", content, charts: []};
}

function winner(group, best) {
  const tiles = [[`${threeDigits(group.time[best])} us`, timesOf(group).best]];
  const add = (name, unit, label) => {
    const value = group.cells(name)[best];
    if (value !== null) tiles.push([`${threeDigits(value)}${unit}`, label]);
  };
  add(isOfMemory(group) ? "gbs" : "tflops", "", isOfMemory(group) ? "GB/s" : "TFLOP/s");
  const rival = group.baselines.length ? group.cells("template")[group.baselines[0]] : "the baseline";
  add("percent_of_baseline", "%", `of ${rival}'s throughput`);
  add("percent_of_ceiling", "%", `of the ${group.cells("bound")[best] ?? ""} ceiling`);
  if (group.noise_floor_percent !== null) tiles.push([`${threeDigits(group.noise_floor_percent)}%`, "noise floor"]);
  tiles.push([String(group.timed), `configurations ${timesOf(group).few}`]);
  const tied = group.leaders - 1;
  const sentence = `${group.cells("template")[best]} ${parametersText(group, best)} is the best choice${isUnverified(group, best) ? " (unverified: its result was compared with nothing)" : ""}; ` + tiesText(group, best, tied);
  return [element("dl", {class: "tiles"}, ...tiles.map(([value, label]) =>
    element("div", {}, element("dt", {}, label), element("dd", {}, value)))), element("p", {class: "winner"}, sentence)];
}

// Without an interval only equal times are known to be ties.
function tiesText(group, best, tied) {
  if (group.predicted) return "a prediction cannot show ties.";
  const hasInterval = group.cells("ci_low_us")[best] !== null;
  if (tied > 0) return `${countText(tied, "other")} ${hasInterval ? "cannot be distinguished from it" : "took just as long"}.`;
  return hasInterval ? "no other configuration ties with it." : "its time has no interval, so that ties are not known.";
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
    return [pick, group.gpu, group.source, best === null ? "none has a time" : `${group.cells("template")[best]}${isUnverified(group, best) ? " (unverified)" : ""}`,
      best === null ? "-" : threeDigits(group.time[best]), cell("tflops"), cell("gbs"), cell("percent_of_baseline"),
      best === null ? "-" : parametersText(group, best, varyingParameters(group).get(group.cells("template")[best]))];
  });
  const headers = [{text: "problem"}, {text: "GPU"}, {text: "times"}, {text: "template"},
    {text: "time, us", numeric: true}, {text: "TFLOP/s", numeric: true}, {text: "GB/s", numeric: true},
    {text: "% of baseline", numeric: true}, {text: "parameters that vary", wide: true, spare: true}];
  const has = headers.map((_, i) => rows.some((row) => row[i] !== "-"));
  return plainTable("The best of each problem", headers.filter((_, i) => has[i]), rows.map((row) => row.filter((_, i) => has[i])));
}
