// A table of many rows, of which it shows one page: sorted by any column, and narrowed by terms.

const kPageSizes = [25, 100, 500];

// "BM=128 registers<100 warptile": every term must hold. A comparison is of a number with a column or a parameter
// of that name; anything else is looked for in the row's text, in either case.
function parseTerms(text) {
  return text.trim().split(/\s+/).filter((term) => term !== "").map((term) => {
    const comparison = /^([^<>=!]+)(<=|>=|!=|<|>|=)(.+)$/.exec(term);
    if (!comparison) return {text: term.toLowerCase()};
    const [, name, operator, value] = comparison;
    return {name: name.toLowerCase(), operator, value, number: Number(value), text: term.toLowerCase()};
  });
}

function holds(term, cell) {
  if (cell === null || cell === undefined) return false;
  const numeric = typeof cell === "number" && !Number.isNaN(term.number);
  const [a, b] = numeric ? [cell, term.number] : [String(cell).toLowerCase(), term.value.toLowerCase()];
  switch (term.operator) {
    case "<": return a < b;
    case ">": return a > b;
    case "<=": return a <= b;
    case ">=": return a >= b;
    case "!=": return a !== b;
    default: return a === b;
  }
}

// `columns`: [{name, title, numeric, wide, spare, value(row), text(row)}]; `rows`: their numbers, in the order that stands first;
// `fields`: a map from a name in lower case to a function of a row, for comparisons; `details(row)`: what a row opens.
class DataTable {
  constructor({id, caption, columns, rows, fields, details, hint}) {
    Object.assign(this, {id, columns, rows, fields, details});
    this.sorting = {column: null, descending: false};
    this.page = 0;
    this.pageSize = kPageSizes[0];
    this.opened = null;
    this.searchable = new Map();
    this.body = element("tbody");
    this.status = element("p", {class: "status", role: "status"});
    this.pager = element("div", {class: "pager"});
    this.filter = element("input", {type: "search", id: `${id}-filter`, placeholder: hint, autocomplete: "off",
      spellcheck: "false", oninput: () => { this.page = 0; this.update(); }});
    this.headers = columns.map((column, i) => this.header(column, i));
    this.root = element("div", {class: "data-table", id},
      element("div", {class: "controls"},
        element("label", {class: "choice wide", for: `${id}-filter`}, "Filter ", this.filter)),
      element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
        element("table", {}, element("caption", {}, caption),
          element("thead", {}, element("tr", {}, ...this.headers)), this.body)),
      this.status, this.pager);
    this.update();
  }

  header(column, i) {
    return element("th", {scope: "col", class: cellClass(column), "aria-sort": "none"},
      element("button", {type: "button", title: column.title, onclick: () => this.sortBy(i)}, ...breakable(column.name)));
  }

  // First ascending, then descending, then the order that the rows came in.
  sortBy(i) {
    const {column, descending} = this.sorting;
    if (column !== i) this.sorting = {column: i, descending: false};
    else this.sorting = descending ? {column: null, descending: false} : {column: i, descending: true};
    this.page = 0;
    this.update();
  }

  textOf(row) {
    let text = this.searchable.get(row);
    if (text === undefined) {
      text = this.columns.map((column) => column.text(row)).join(" ").toLowerCase();
      this.searchable.set(row, text);
    }
    return text;
  }

  matches(row, terms) {
    return terms.every((term) => {
      const field = term.name && this.fields.get(term.name);
      return field ? holds(term, field(row)) : this.textOf(row).includes(term.text);
    });
  }

  shownRows() {
    const terms = parseTerms(this.filter.value);
    const rows = terms.length ? this.rows.filter((row) => this.matches(row, terms)) : [...this.rows];
    const {column, descending} = this.sorting;
    if (column === null) return rows;
    const value = this.columns[column].value;
    const sign = descending ? -1 : 1;
    const isAbsent = (cell) => cell === null || cell === undefined || cell === "";
    return rows.sort((i, j) => {
      const [a, b] = [value(i), value(j)];
      if (isAbsent(a) || isAbsent(b)) return isAbsent(a) - isAbsent(b);
      if (typeof a === "number" && typeof b === "number") return sign * (a - b);
      return sign * String(a).localeCompare(String(b), "en", {numeric: true});
    });
  }

  update() {
    const rows = this.shownRows();
    const pages = Math.max(1, Math.ceil(rows.length / this.pageSize));
    this.page = Math.min(this.page, pages - 1);
    const first = this.page * this.pageSize;
    this.headers.forEach((header, i) => {
      const {column, descending} = this.sorting;
      header.setAttribute("aria-sort", column !== i ? "none" : descending ? "descending" : "ascending");
    });
    this.body.replaceChildren();
    for (const row of rows.slice(first, first + this.pageSize)) this.addRow(row);
    const last = Math.min(first + this.pageSize, rows.length);
    const of = rows.length === this.rows.length ? `${rows.length}` : `${rows.length} that match, of ${this.rows.length}`;
    this.status.textContent = rows.length ? `Rows ${first + 1} to ${last} of ${of}` : "No row matches the filter.";
    this.updatePager(pages);
  }

  addRow(row) {
    const isOpen = this.opened === row;
    const cells = this.columns.map((column, i) => {
      const text = column.text(row);
      const button = i === 0 && this.details
        ? element("button", {type: "button", class: "open", "aria-expanded": String(isOpen),
          "aria-label": `Details of ${text}`, onclick: () => this.open(isOpen ? null : row)}, isOpen ? "▾" : "▸")
        : null;
      return element("td", {class: cellClass(column)}, button, text);
    });
    this.body.append(element("tr", {}, ...cells));
    if (isOpen) {
      this.body.append(element("tr", {class: "details"},
        element("td", {colspan: this.columns.length}, ...this.details(row))));
    }
  }

  open(row) {
    this.opened = row;
    this.update();
    this.body.querySelector(row === null ? ".open" : ".open[aria-expanded=true]")?.focus();
  }

  updatePager(pages) {
    if (this.rows.length <= kPageSizes[0]) return this.pager.replaceChildren();
    const focused = this.pager.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    const go = (page, text) => element("button", {type: "button", "aria-label": `${text} page`,
      disabled: page < 0 || page >= pages || page === this.page,
      onclick: () => { this.page = page; this.update(); }}, text);
    const sizes = kPageSizes.map(String);
    this.pager.replaceChildren(go(0, "First"), go(this.page - 1, "Previous"),
      element("span", {}, `Page ${this.page + 1} of ${pages}`), go(this.page + 1, "Next"), go(pages - 1, "Last"),
      chooser("Rows per page", sizes, kPageSizes.indexOf(this.pageSize), (i) => {
        this.pageSize = kPageSizes[i];
        this.page = 0;
        this.update();
      }));
    if (focused) this.refocus(focused);
  }

  // The pager is made anew; who pages by keyboard goes on where they were, or at the end on the way back.
  refocus(label) {
    const enabled = [...this.pager.querySelectorAll("button:not(:disabled)")];
    (enabled.find((button) => button.getAttribute("aria-label") === label) ?? enabled[0])?.focus();
  }
}
