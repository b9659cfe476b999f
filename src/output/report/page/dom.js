// Elements are made here and nowhere else, and text from the data only ever becomes text: nothing parses it as HTML.

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// A labelled <select> of texts; `choose` gets the place of what is chosen.
function chooser(label, names, chosen, choose) {
  const select = element("select", {onchange: () => choose(select.selectedIndex)},
    ...names.map((name, i) => element("option", {selected: i === chosen}, name)));
  return element("label", {class: "choice"}, label, " ", select);
}

// A long name that may break after its underscores.
const breakable = (name) => name.split(/(?<=_)/).flatMap((part, i) => (i === 0 ? [part] : [element("wbr"), part]));

// Numbers stand on the right, wide texts may break, and a phone has no room for what is spare.
const cellClass = ({numeric, wide, spare}) => [numeric && "number", wide && "wide", spare && "spare"].filter(Boolean).join(" ");

// A table of texts. `headers`: [{text, title, numeric, wide, spare}].
function plainTable(caption, headers, rows) {
  const cell = (tag, i, content, attributes = {}) => element(tag, {class: cellClass(headers[i]), ...attributes}, content);
  return element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
    element("table", {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {},
        ...headers.map((header, i) => cell("th", i, header.text, {scope: "col", title: header.title ?? null})))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((text, i) => cell("td", i, text)))))));
}

// A symbol of the legend, the same shape and colour as the chart's.
const kSymbolPaths = {
  circle: "M0,-5A5,5,0,1,1,0,5A5,5,0,1,1,0,-5Z",
  square: "M-4.5,-4.5H4.5V4.5H-4.5Z",
  "triangle-up": "M0,-5L5,4.5H-5Z",
  diamond: "M0,-6L4.5,0L0,6L-4.5,0Z",
  "triangle-down": "M0,5L5,-4.5H-5Z",
};

function symbolImage(shape, colour) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "-7 -7 14 14");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", kSymbolPaths[shape]);
  path.setAttribute("fill", colour);
  svg.append(path);
  return svg;
}
