// Vega comes as modules in CommonJS form, one function each, in an order in which each finds what it requires.
const vegaExports = new Map();

function vegaModule(name, define) {
  const module = {exports: {}};
  const require = (wanted) => {
    // The module's file is named in the singular.
    const found = vegaExports.get(wanted === "vega-selections" ? "vega-selection" : wanted);
    if (!found) throw new Error(`${name} requires ${wanted}, which is not in this page`);
    return found;
  };
  define(module.exports, module, require);
  vegaExports.set(name, module.exports);
}
