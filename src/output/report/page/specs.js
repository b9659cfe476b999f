// Specifications of charts for Vega. Names from the data are values or titles in them and never field names or
// expressions, which Vega would parse.

// Vega keeps marks and titles in plain objects by their texts, where "__proto__" is not a key and "constructor" is there
// before anything was put in. A space at the end makes them texts like others.
const keyText = (text) => (text in Object.prototype ? `${text} ` : text);

// `ticks`: the values to label, where the scale's own choice is not good.
const axes = (x, y, xTicks = null, yTicks = null) => [
  {orient: "bottom", scale: "x", title: x, grid: true, ...labelled(xTicks)},
  {orient: "left", scale: "y", title: y, grid: true, ...labelled(yTicks)},
];
// A number of ticks beside the values would make Vega leave out every other value.
const labelled = (ticks) => (ticks ? {values: ticks, format: "~g", labelOverlap: false} : {tickCount: 5});

// 1, 2, 5, 10, ... within a logarithmic scale, or powers of ten alone where it is long; null where that is too few.
function logTicks([low, high]) {
  const digits = high / low > 2000 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
    for (const digit of digits) {
      const tick = Number(`${digit}e${power}`);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks.length > 2 ? ticks : null;
}

const logScale = (name, range, domain) => ({name, type: "log", range, domain, nice: false, zero: false});

// The smallest and the largest value, with room around them on a logarithmic scale.
function logDomain(values, room = 1.08) {
  let [low, high] = [Infinity, 0];
  for (const value of values) {
    if (!(value > 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return high > 0 ? [low / room, high * room] : [1, 10];
}

// `points`: [{x, y, colour, shape, row, faint}]; `rules`: [{y, name}].
function scatterSpec(points, rules, {xTitle, yTitle, height, best}) {
  const xs = points.map((point) => point.x);
  const [xLow, xHigh] = extent(xs);
  const room = (xHigh - xLow || 1) * 0.06;
  const times = logDomain([...points.map((p) => p.y), ...rules.map((r) => r.y)]);
  return {
    height,
    data: [{name: "points", values: points}, {name: "rules", values: rules}, {name: "best", values: best}],
    scales: [
      {name: "x", type: "linear", range: "width", domain: [xLow - room, xHigh + room], zero: false, nice: false},
      logScale("y", "height", times),
    ],
    axes: axes(xTitle, yTitle, null, logTicks(times)),
    marks: [
      {name: "marks", type: "symbol", from: {data: "points"}, encode: {
        enter: {
          x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, fill: {field: "colour"}, shape: {field: "shape"},
          size: {value: 26}, fillOpacity: {field: "opacity"}, tooltip: {field: "row"}},
      }},
      {type: "rule", from: {data: "rules"}, encode: {enter: {
        x: {value: 0}, x2: {field: {group: "width"}}, y: {scale: "y", field: "y"},
        stroke: {value: kBaselineColour}, strokeDash: {value: [6, 3]}, strokeWidth: {value: 1.5}}}},
      {type: "symbol", from: {data: "best"}, encode: {enter: {
        x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, shape: {value: "circle"}, size: {value: 120},
        stroke: {value: kBestColour}, strokeWidth: {value: 2}, fill: {value: "transparent"}, tooltip: {field: "row"}}}},
    ],
  };
}

function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : [0, 1];
}

// `cells`: [{x, y, percent, cell}] with x and y among the texts `xs` and `ys`.
function heatSpec(cells, xs, ys, {xTitle, yTitle, width}) {
  const rowHeight = Math.max(24, Math.min(44, 360 / ys.length));
  const roomy = (width - 90) / xs.length > 34;
  const lowest = Math.min(...cells.map((cell) => cell.percent));
  return {
    height: rowHeight * ys.length + 96,
    data: [{name: "cells", values: cells.map((cell) => ({...cell, x: keyText(cell.x), y: keyText(cell.y)}))}],
    scales: [
      {name: "x", type: "band", range: "width", domain: xs.map(keyText), padding: 0.04},
      {name: "y", type: "band", range: "height", domain: ys.map(keyText), padding: 0.04},
      {name: "colour", type: "linear", range: {scheme: "viridis"}, domain: [Math.min(lowest, 99), 100], zero: false},
    ],
    axes: [{orient: "bottom", scale: "x", title: keyText(xTitle)},
      {orient: "left", scale: "y", title: keyText(yTitle)}],
    legends: [{fill: "colour", title: "% of the fastest", orient: "top", direction: "horizontal",
      gradientLength: Math.min(240, width - 140)}],
    marks: [
      {name: "marks", type: "rect", from: {data: "cells"}, encode: {enter: {
        x: {scale: "x", field: "x"}, width: {scale: "x", band: 1}, y: {scale: "y", field: "y"},
        height: {scale: "y", band: 1}, fill: {scale: "colour", field: "percent"}, tooltip: {field: "cell"}}}},
      ...(roomy ? [{type: "text", from: {data: "cells"}, interactive: false, encode: {enter: {
        x: {scale: "x", field: "x", band: 0.5}, y: {scale: "y", field: "y", band: 0.5}, align: {value: "center"},
        baseline: {value: "middle"}, fontSize: {value: 11}, text: {field: "text"}, fill: {field: "ink"}}}}] : []),
    ],
  };
}

// Horizontal bars. `bars`: [{name, value, text, colour, bar}]; `rule`: a value to compare with, or null.
function barSpec(bars, {title, width, rule = null}) {
  const longest = Math.max(...bars.map((bar) => bar.value), rule ?? 0) || 1;
  const kNames = width > 600 ? 220 : 130;
  const kText = 60;
  return {
    height: 26 * bars.length + 48,
    data: [{name: "bars", values: bars.map((bar) => ({...bar, name: keyText(bar.name)}))}, {name: "rule", values: rule === null ? [] : [{value: rule}]}],
    scales: [
      {name: "x", type: "linear", range: "width", 
        domain: [0, longest * (1 + kText / Math.max(kText, width - kNames - kText))], zero: true, nice: false},
      {name: "y", type: "band", range: "height", domain: bars.map((bar) => keyText(bar.name)), padding: 0.2},
    ],
    axes: [{orient: "bottom", scale: "x", title, grid: true, tickCount: 5}, {orient: "left", scale: "y", labelLimit: kNames}],
    marks: [
      {name: "marks", type: "rect", from: {data: "bars"}, encode: {enter: {
        x: {scale: "x", value: 0}, x2: {scale: "x", field: "value"}, y: {scale: "y", field: "name"},
        height: {scale: "y", band: 1}, fill: {field: "colour"}, tooltip: {field: "bar"}}}},
      {type: "text", from: {data: "bars"}, encode: {enter: {
        x: {scale: "x", field: "value", offset: 5}, y: {scale: "y", field: "name", band: 0.5},
        baseline: {value: "middle"}, fontSize: {value: 11}, text: {field: "text"}, fill: {value: colourOf("--text")}}}},
      {type: "rule", from: {data: "rule"}, encode: {enter: {
        x: {scale: "x", field: "value"}, y: {value: 0}, y2: {field: {group: "height"}},
        stroke: {value: kBaselineColour}, strokeDash: {value: [6, 3]}, strokeWidth: {value: 1.5}}}},
    ],
  };
}

// `bins`: [{low, high, from, to, colour, bin}] stacked counts; `rules`: [{at, name, colour, level}]; `band`: [{low, high}].
function distributionSpec(bins, rules, band, {xTitle, domain}) {
  const highest = Math.max(1, ...bins.map((bin) => bin.to));
  return {
    height: 260,
    data: [{name: "bins", values: bins}, {name: "rules", values: rules}, {name: "band", values: band}],
    scales: [logScale("x", "width", domain),
      {name: "y", type: "linear", range: "height", domain: [0, 1.3 * highest], zero: true, nice: false}],
    axes: axes(xTitle, "configurations", logTicks(domain)),
    marks: [
      {type: "rect", from: {data: "band"}, encode: {enter: {
        x: {scale: "x", field: "low"}, x2: {scale: "x", field: "high"}, y: {value: 0}, y2: {field: {group: "height"}},
        fill: {value: kBestColour}, fillOpacity: {value: 0.3}}}},
      {name: "marks", type: "rect", from: {data: "bins"}, encode: {enter: {
        x: {scale: "x", field: "low"}, x2: {scale: "x", field: "high", offset: -1}, y: {scale: "y", field: "from"},
        y2: {scale: "y", field: "to"}, fill: {field: "colour"}, tooltip: {field: "bin"}}}},
      {type: "rule", from: {data: "rules"}, encode: {enter: {
        x: {scale: "x", field: "at"}, y: {value: 0}, y2: {field: {group: "height"}}, stroke: {field: "colour"},
        strokeDash: {field: "dash"}, strokeWidth: {value: 1.5}}}},
      {type: "text", from: {data: "rules"}, encode: {enter: {
        x: {scale: "x", field: "at", offset: 4}, y: {field: "level"}, baseline: {value: "top"},
        fontSize: {value: 11}, text: {field: "name"}, fill: {value: colourOf("--text")}}}},
    ],
  };
}

// `points`: [{x, y, colour, opacity, size, row, name}]; `roofs`: [{x, y, x2, y2}]; `labels`: [{x, y, name}].
function rooflineSpec(points, roofs, labels, {domain, range}) {
  return {
    height: 340,
    data: [{name: "points", values: points}, {name: "roofs", values: roofs}, {name: "labels", values: labels}],
    scales: [logScale("x", "width", domain), logScale("y", "height", range)],
    axes: axes("arithmetic intensity, operations per byte", "TFLOP/s", logTicks(domain), logTicks(range)),
    marks: [
      {type: "rule", from: {data: "roofs"}, clip: true, encode: {enter: {
        x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, x2: {scale: "x", field: "x2"},
        y2: {scale: "y", field: "y2"}, stroke: {value: colourOf("--text")}, strokeWidth: {value: 1.5}}}},
      {name: "marks", type: "symbol", from: {data: "points"}, encode: {enter: {
        x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, fill: {field: "colour"}, shape: {field: "shape"},
        fillOpacity: {field: "opacity"}, size: {field: "size"}, tooltip: {field: "row"}}}},
      {type: "text", from: {data: "labels"}, encode: {enter: {
        x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, dx: {field: "dx"}, dy: {field: "dy"}, align: {field: "align"},
        fontSize: {value: 11}, text: {field: "name"}, fill: {value: colourOf("--text")}}}},
    ],
  };
}

// `points`: [{x, y, colour, shape, place}], times of one configuration on two GPUs.
function pairSpec(points, {xTitle, yTitle}) {
  const [domain, range] = [logDomain(points.map(({x}) => x)), logDomain(points.map(({y}) => y))];
  return {
    height: 340,
    data: [{name: "points", values: points}],
    scales: [logScale("x", "width", domain), logScale("y", "height", range)],
    axes: axes(xTitle, yTitle, logTicks(domain), logTicks(range)),
    marks: [{name: "marks", type: "symbol", from: {data: "points"}, encode: {enter: {
      x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, fill: {field: "colour"}, shape: {field: "shape"},
      size: {value: 26}, fillOpacity: {value: 0.6}, tooltip: {field: "place"}}}}],
  };
}

// A curve of falling steps. `points`: [{x, y, step}], the last one without a step where the curve only goes on; `rules`: [{y}].
function historySpec(points, rules, {xTitle, yTitle}) {
  const domain = logDomain(points.map(({x}) => x));
  const range = logDomain([...points.map(({y}) => y), ...rules.map(({y}) => y)]);
  return {
    height: 280,
    data: [{name: "points", values: points}, {name: "steps", values: points.filter(({step}) => step !== null)},
      {name: "rules", values: rules}],
    scales: [logScale("x", "width", domain), logScale("y", "height", range)],
    axes: axes(xTitle, yTitle, logTicks(domain), logTicks(range)),
    marks: [
      {type: "line", from: {data: "points"}, encode: {enter: {
        x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, interpolate: {value: "step-after"},
        stroke: {value: kBarColour}, strokeWidth: {value: 2}}}},
      {name: "marks", type: "symbol", from: {data: "steps"}, encode: {enter: {
        x: {scale: "x", field: "x"}, y: {scale: "y", field: "y"}, shape: {value: "circle"}, size: {value: 40},
        fill: {value: kBarColour}, tooltip: {field: "step"}}}},
      {type: "rule", from: {data: "rules"}, encode: {enter: {
        x: {value: 0}, x2: {field: {group: "width"}}, y: {scale: "y", field: "y"},
        stroke: {value: kBaselineColour}, strokeDash: {value: [6, 3]}, strokeWidth: {value: 1.5}}}},
    ],
  };
}
