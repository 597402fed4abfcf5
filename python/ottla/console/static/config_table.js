// A configuration: the keys that were set first, with their defaults; the others on demand.

import { el, table } from "./dom.js";
import { counted } from "./format.js";

/** Returns the section of a configuration ({error, entries}). `opened` keeps its details open when it is drawn again. */
export function configTable(configs, opened) {
  const head = el("h3", {}, "Configuration");
  if (configs.error) return el("section.configs", {}, head, el("p.notice", {}, `The configuration is unknown: ${configs.error}`));
  const set = configs.entries.filter((each) => each.is_set);
  const others = configs.entries.filter((each) => !each.is_set);
  const shown = (entries) => entries.map((each) => [el("th", { scope: "row", role: "rowheader" }, el("code", {}, each.name)), text(each.value, each), text(each.default, each), each.source]);
  const heads = ["key", "value", "default", "set by"];
  return el("section.configs", {}, head,
    set.length ? table("Differences from the defaults", heads, shown(set)) : el("p.found", {}, "Nothing differs from the defaults."),
    others.length ? el("details", { open: opened.has("configs"), ontoggle: (event) => { if (event.target.open) opened.add("configs"); else opened.delete("configs"); } },
      el("summary", { "data-key": "configs" }, counted(others.length, "default")),
      table("Defaults", ["key", "value"], others.map((each) => [el("th", { scope: "row", role: "rowheader" }, el("code", {}, each.name)), text(each.value, each)]))) : null);
}

function text(value, { is_sensitive: isSensitive }) {
  if (isSensitive) return "(secret)";
  return value === null ? "–" : value === "" ? el("i", {}, "empty") : value;
}
