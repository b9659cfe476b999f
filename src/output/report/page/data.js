// The data of the page, unpacked from its columns.

const report = JSON.parse(document.getElementById("data").textContent);

// A packed column as an array of `count` values, null for what is absent; or null where no row has one.
function unpackColumn(column, count) {
  if (!column) return null;
  if ("all" in column) return new Array(count).fill(column.all);
  if (!("names" in column)) return column.values;
  return column.values.map((place) => (place < 0 ? null : column.names[place]));
}

// A group whose rows have been unpacked: `column(name)` is an array or null; `time` the times that rank.
function unpackGroup(packed) {
  const count = packed.rows.count;
  const columns = new Map();
  for (const name of Object.keys(packed.rows)) {
    if (name !== "count") columns.set(name, unpackColumn(packed.rows[name], count));
  }
  const absent = new Array(count).fill(null);
  const column = (name) => columns.get(name) ?? null;
  const cells = (name) => column(name) ?? absent;
  const predicted = packed.source === "predicted";
  const medians = cells("median_us");
  const time = predicted ? cells("predicted_us").map((us, i) => us ?? medians[i]) : medians;
  const parameters = packed.parameters.map((p) => ({name: p.name, values: unpackColumn(p, count)}));
  const everyRow = Array.from({length: count}, (_, i) => i);
  const kernels = everyRow.filter((i) => cells("kind")[i] === "kernel");
  const baselines = everyRow.filter((i) => cells("kind")[i] === "baseline" && time[i] > 0);
  const templates = [...new Set(kernels.map((i) => cells("template")[i]))];
  return {...packed, count, column, cells, time, predicted, parameters, kernels, baselines, templates};
}

// "BM=128 BN=64" of a row, of the given parameters.
function parametersText(group, row, parameters = group.parameters) {
  const parts = [];
  for (const {name, values} of parameters) {
    if (values[row] !== null) parts.push(`${name}=${values[row]}`);
  }
  return parts.join(" ");
}

// The parameters that take more than one value within a template, by template.
function varyingParameters(group) {
  const varying = new Map();
  for (const template of group.templates) {
    const rows = group.kernels.filter((i) => group.cells("template")[i] === template);
    varying.set(template, group.parameters.filter(({values}) => {
      const first = values[rows[0]];
      return rows.length === 1 ? first !== null : rows.some((i) => values[i] !== first);
    }));
  }
  return varying;
}

// Three significant digits without an exponent, as tiletune prints numbers.
function threeDigits(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "-";
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(12, Math.max(0, 2 - magnitude)));
}

function numberText(value) {
  if (typeof value !== "number") return value ?? "-";
  return Number.isInteger(value) ? String(value) : threeDigits(value);
}

const countText = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// A word as a POSIX shell reads it back.
const shellWord = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
