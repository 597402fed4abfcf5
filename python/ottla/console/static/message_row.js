// One record of the Messages page: its offset, its key and value in short, and the whole record on demand.

import { el, replace } from "./dom.js";
import { count } from "./format.js";
import { get } from "./stream.js";

const SHORT = 200;
// Deeper values are not indented further.
const MAX_DEPTH = 40;

/** Returns the row of a record. `rest` contains the parameters with which it was read. */
export function messageRow(record, rest) {
  const body = el("div.body");
  const details = el("details", { ontoggle: () => { if (details.open && !body.children.length) draw(body, record, rest); } },
    el("summary", {},
      el("span.place", {}, el("span.marker", { "aria-hidden": "true" }), `${record.partition} : ${record.offset}`),
      el("time", { datetime: iso(record.timestamp) }, record.timestamp < 0 ? "no time" : iso(record.timestamp)),
      el("span.key", {}, brief(record.key)),
      el("span.value", {}, brief(record.value)),
      record.error ? el("span.bad", {}, record.error) : null),
    body);
  return el("li", { "data-offset": record.offset, "data-partition": record.partition }, details);
}

function iso(milliseconds) {
  // Timestamp columns end in the year 294246.
  if (milliseconds === null) return "after the year 294246";
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? String(milliseconds) : date.toISOString();
}

function brief(part) {
  if (part === null) return el("i", {}, "null");
  if (part.kind === "hex") return `0x${part.text.slice(0, SHORT)}`;
  return part.text.slice(0, SHORT);
}

async function draw(body, record, rest) {
  show(body, record);
  if (!record.key?.cut && !record.value?.cut) return;
  const wanted = { ...rest, last: "", partition: record.partition, start: record.offset, count: 1 };
  try {
    const page = await get("/api/messages", wanted);
    if (page.records[0]?.offset === record.offset) show(body, page.records[0]);
  } catch (error) {
    body.append(el("p.notice.bad", {}, error.message));
  }
}

function show(body, record) {
  const headers = record.headers.map(([name, value]) => el("li", {}, el("b", {}, name), ": ", value === null ? el("i", {}, "null") : `${value.kind === "hex" ? "0x" : ""}${value.text}${value.cut ? "…" : ""}`));
  replace(body, part("key", record.key), part("value", record.value),
    headers.length ? [el("h4", {}, "headers"), el("ul.plain", {}, headers)] : el("p.found", {}, "no headers"));
}

function part(name, value) {
  if (value === null) return el("p", {}, el("b", {}, name), ": null");
  const head = el("h4", {}, name, " ", el("small", {}, `${value.kind}, ${count(value.size)} bytes${value.cut ? ", cut" : ""}`));
  const shown = value.kind === "hex" ? value.text.replace(/(.{64})/g, "$1\n").replace(/(..)/g, "$1 ") : value.kind === "json" && !value.cut ? pretty(value.text) : value.text;
  return [head, value.error ? el("p.bad", {}, value.error) : null, el("pre", { tabindex: "0", "aria-label": name }, shown)];
}

// Indents JSON without parsing it, since parsing would change numbers and the order of keys.
function pretty(text) {
  let depth = 0;
  const line = () => `\n${"  ".repeat(Math.min(depth, MAX_DEPTH))}`;
  return text.replace(/"(?:[^"\\]|\\.)*"|[[{]\s*[\]}]|[{}[\],:]|\s+/g, (token) => {
    switch (token) {
      case "{": case "[": depth += 1; return token + line();
      case "}": case "]": depth -= 1; return line() + token;
      case ",": return token + line();
      case ":": return ": ";
      // A string, an empty object or array, or the white space between tokens.
      default: return /^\s/.test(token) ? "" : token[0] === "\"" ? token : token.replace(/\s/g, "");
    }
  });
}
