// Charts, which Vega draws on canvas by the specifications of specs.js, each with a table of what it shows.

const hasCharts = vegaExports.has("vega-parser");

// Okabe and Ito's colours, which colour-blind people tell apart, and shapes, so that colour is never the only sign.
const kColours = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B59B00"];
const kShapes = ["circle", "square", "triangle-up", "diamond", "triangle-down"];
const kBestColour = "#D55E00";
const kBaselineColour = "#CC79A7";
const kBarColour = "#0072B2";

const styleOf = (place) => ({colour: kColours[place % kColours.length],
  shape: kShapes[(place + Math.floor(place / kColours.length)) % kShapes.length]});

if (hasCharts) {
  const {transforms} = vegaExports.get("vega-dataflow");
  for (const name of ["vega-transforms", "vega-view-transforms", "vega-encode"])
    Object.assign(transforms, vegaExports.get(name));
}

const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function themeOfCharts() {
  const text = colourOf("--text");
  const quiet = colourOf("--quiet");
  const line = colourOf("--line");
  return {
    background: null,
    axis: {labelColor: quiet, titleColor: text, domainColor: line, tickColor: line, gridColor: line,
      gridOpacity: 0.5, labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal", labelOverlap: true,
      labelFont: "system-ui, sans-serif", titleFont: "system-ui, sans-serif"},
    legend: {labelColor: quiet, titleColor: text, titleFontWeight: "normal",
      labelFont: "system-ui, sans-serif", titleFont: "system-ui, sans-serif"},
    text: {font: "system-ui, sans-serif"},
  };
}

// Nothing is loaded; a specification that names a file is a mistake.
const kNoLoader = {load: () => Promise.reject(new Error("this page loads nothing")),
  sanitize: () => Promise.reject(new Error("this page links to nothing")), http: null, file: null};

const shownCharts = new Set();

// A place for a chart: `describe(width)` gives its specification for a width in pixels, drawn anew when the width or the
// theme changes; `label` says in words what it shows, `tip(value)` the lines of a mark whose `tooltip` is this value.
class Chart {
  constructor({id, label, describe, tip}) {
    Object.assign(this, {describe, tip, view: null, width: 0});
    this.root = element("div", {class: "chart", id, role: "img", "aria-label": label});
  }

  draw() {
    this.width = this.root.clientWidth;
    if (!hasCharts || this.width === 0) return;
    const {parse} = vegaExports.get("vega-parser");
    const {View} = vegaExports.get("vega-view");
    const {expressionInterpreter} = vegaExports.get("vega-interpreter");
    const spec = {padding: 4, autosize: {type: "fit", contains: "padding"}, width: this.width, ...this.describe(this.width)};
    this.view?.finalize();
    this.view = new View(parse(spec, themeOfCharts(), {ast: true}), {renderer: "canvas", container: this.root,
      hover: true, loader: kNoLoader, logLevel: 1, expr: expressionInterpreter,
      tooltip: (_, event, item, value) => showTooltip(event, value === undefined ? null : value, this.tip)});
    this.view.run();
    // The label on the outside says it all; the canvas would be announced once more.
    for (const child of this.root.children) child.setAttribute("aria-hidden", "true");
    shownCharts.add(this);
  }
}

function showTooltip(event, value, tip) {
  const box = document.getElementById("tooltip");
  box.hidden = value === null || value === "" || !tip;
  if (box.hidden) return;
  box.replaceChildren(...tip(value).map((line) => element("div", {}, line)));
  const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - box.offsetWidth - 8);
  const below = event.clientY + 14 + box.offsetHeight < window.innerHeight;
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${below ? event.clientY + 14 : event.clientY - box.offsetHeight - 10}px`;
}

// Charts are drawn one after the other, so that the page answers in between; what is asked for meanwhile joins the rest.
const waitingCharts = new Set();
let isDrawing = false;
function drawAll(charts) {
  for (const chart of charts) waitingCharts.add(chart);
  document.documentElement.dataset.charts = "drawing";
  if (!isDrawing) drawNext();
}

function drawNext() {
  const [chart] = waitingCharts;
  isDrawing = chart !== undefined;
  if (!isDrawing) {
    document.documentElement.dataset.charts = "drawn";
    return;
  }
  waitingCharts.delete(chart);
  try {
    chart.draw();
  } catch (error) {
    // The others can still be drawn, and its table says the same.
    console.error(error);
  }
  setTimeout(drawNext);
}

const forgetCharts = () => {
  for (const chart of shownCharts) chart.view?.finalize();
  shownCharts.clear();
  waitingCharts.clear();
};

const redrawCharts = () => drawAll([...shownCharts]);

let resizing = 0;
window.addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => drawAll([...shownCharts].filter((chart) => chart.root.clientWidth !== chart.width)), 150);
});
