// Puts the page together: the choosers, the theme, and the sections of the chosen group.

const groups = report.groups.map(unpackGroup);
let chosenGroup = 0;

const kThemes = ["auto", "light", "dark"];
const kThemeKey = "tiletune-theme";

function storedTheme() {
  try {
    return localStorage.getItem(kThemeKey);
  } catch {
    return null;  // a page from a file may have no storage
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").textContent = `Theme: ${theme}`;
  try {
    localStorage.setItem(kThemeKey, theme);
  } catch {
    // Then it holds for this visit.
  }
}

function sectionElement({id, title, content}) {
  return element("section", {id, "aria-labelledby": `${id}-title`},
    element("h2", {id: `${id}-title`}, title), ...content.filter((child) => child !== null));
}

function nameOfGroup(group) {
  const alike = (field) => groups.every((other) => other[field] === groups[0][field]);
  const parts = [group.problem];
  for (const field of ["gpu", "source", "conditions"]) if (!alike(field)) parts.push(group[field]);
  return parts.join(", ");
}

function showGroup(place) {
  chosenGroup = place;
  const group = groups[place];
  forgetCharts();
  document.getElementById("chooser").replaceChildren(element("div", {class: "controls"},
    groups.length > 1 ? chooser("Problem", groups.map(nameOfGroup), place, showGroup) : null));
  const sections = [summarySection(group), rankingSection(group), resourcesSection(group), heatSection(group),
    importanceSection(group), historySection(group), distributionSection(group), rooflineSection(group, groups), ladderSection(group),
    comparisonSection(group, groups),
    outcomesSection(group)].filter((section) => section !== null);
  if (groups.length > 1) sections[0].content.push(problemsSection(groups, (chosen) => {
    showGroup(chosen);
    document.querySelector("#chooser select").focus();
  }));
  if (report.earlier_source_rows) sections[0].content.push(element("p", {class: "fact"},
    `${countText(report.earlier_source_rows, "row")} of an earlier source hidden (tiletune report --any-source shows them).`));
  if (!hasCharts) sections[0].content.push(element("p", {class: "banner"}, "This page was made by a tiletune built without ",
    "libjs-vega: tables replace the charts."));
  document.getElementById("sections").replaceChildren(...sections.map(sectionElement));
  document.querySelector("nav").replaceChildren(element("ul", {}, ...sections.map(({id, title, short}) =>
    element("li", {}, element("a", {href: `#${id}`}, short ?? title)))));
  document.getElementById("origin").textContent =
    `${group.problem} on ${group.gpu}, ${group.source}${group.conditions ? ` (${group.conditions})` : ""}`;
  drawAll(sections.flatMap(({charts}) => charts));
}

document.getElementById("theme").addEventListener("click", () => {
  const now = kThemes.indexOf(document.documentElement.dataset.theme);
  setTheme(kThemes[(now + 1) % kThemes.length]);
  redrawCharts();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawCharts);

// Paper is white.
let themeOnScreen = null;
function drawForPaper(theme) {
  document.documentElement.dataset.theme = theme;
  for (const chart of shownCharts) chart.draw();
}
window.addEventListener("beforeprint", () => {
  themeOnScreen = document.documentElement.dataset.theme;
  drawForPaper("light");
});
window.addEventListener("afterprint", () => drawForPaper(themeOnScreen));

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.getElementById("tooltip").hidden = true;
});

setTheme(kThemes.includes(storedTheme()) ? storedTheme() : "auto");
document.getElementById("made").textContent =
  `tiletune ${report.tiletune}, ${report.created_at}, from ${report.database}: ${report.command}`;
showGroup(0);
