// Throughput: under the ceilings of the GPU, and from template to template.

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
  const ridge = ceilings.arithmetic_tflops / (kTeraPerGiga * ceilings.copy_gbs);
  const domain = logDomain([...xs, ridge / 4, ridge * 8], 1.6);
  const range = logDomain([...rows.map((i) => tflops[i]), ...bests.map(({y}) => y), ceilings.arithmetic_tflops], 1.5);
  const roofs = [{x: domain[0], y: memory(domain[0]), x2: ridge, y2: ceilings.arithmetic_tflops},
    {x: ridge, y: ceilings.arithmetic_tflops, x2: domain[1], y2: ceilings.arithmetic_tflops}];
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
      const labels = [{x: domain[1], y: ceilings.arithmetic_tflops, dx: -4, dy: -6, align: "right",
        name: `${threeDigits(ceilings.arithmetic_tflops)} TFLOP/s of ${ceilings.arithmetic}`},
      {x: ridge, y: range[0], dx: 4, dy: -8, align: "left", name: `balance at ${threeDigits(ridge)} operations per byte`}];
      return rooflineSpec(points, roofs, labels, {domain, range});
    }});
  const table = plainTable("The best of each problem under the ceilings", [{text: "problem"},
    {text: "operations per byte", numeric: true}, {text: "TFLOP/s", numeric: true}, {text: "lowest ceiling, TFLOP/s", numeric: true},
    {text: "% of it", numeric: true}], bests.map(({problem, x, y}) => {
    const ceiling = Math.min(memory(x), ceilings.arithmetic_tflops);
    return [problem, threeDigits(x), threeDigits(y), threeDigits(ceiling), threeDigits(100 * y / ceiling)];
  }));
  return {id: "roofline", title: "Roofline", charts: [chart], content: [
    element("p", {class: "fact"}, `Ceilings as measured on this GPU: ${threeDigits(ceilings.arithmetic_tflops)} TFLOP/s of `,
      `${ceilings.arithmetic}, ${threeDigits(kTeraPerGiga * ceilings.copy_gbs)} TB/s of copy in device memory. Operations per byte `,
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
    group.ladder.map((rung) => [`${rung.template}${rung.verified ? "" : " (unverified)"}`, rung.parameters, threeDigits(rung.time_us), threeDigits(rung.tflops),
      threeDigits(rung.speedup_over_first), threeDigits(rung.speedup_over_previous)])))]};
}
