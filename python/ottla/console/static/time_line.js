// The time line: events of the cluster and the connections, the newest first, up to the page's limit.

import { el, replace } from "./dom.js";
import { clock, counted } from "./format.js";
import { events, subscribe } from "./stream.js";

const SHOWN = 200;

const ICONS = {
  leader_changed: "⇄", broker_added: "+", broker_lost: "✗", broker_moved: "→", topic_appeared: "+", topic_gone: "−",
  topic_recreated: "↻", partitions_added: "+", connection_opened: "●", connection_lost: "○", missed: "…", note: "ℹ", action: "▶",
};
const BAD = new Set(["broker_lost", "connection_lost", "missed"]);

/** Creates the time line: its element, and `close`. */
export function timeLine(title = "Time line") {
  let shown = SHOWN;
  const list = el("ol.events", { "aria-label": title, tabindex: "0" });
  const more = el("button", { type: "button", onclick: () => { shown += SHOWN; draw(); } }, "Show older events");
  const found = el("p.found");
  const draw = () => {
    const from = Math.max(0, events.length - shown);
    replace(list, events.slice(from).reverse().map(entry));
    found.textContent = events.length ? counted(events.length, "event") : "Nothing has changed since the console started.";
    more.hidden = from === 0;
  };
  draw();
  const end = subscribe("fresh events", draw);
  return { element: el("section.time-line", {}, el("h3", {}, title), found, list, more), close: end };
}

function entry(event) {
  return el(`li${BAD.has(event.kind) ? ".bad" : ""}`, { "data-kind": event.kind },
    el("time", { datetime: new Date(event.time * 1000).toISOString() }, clock(event.time)),
    el("span.icon", { "aria-hidden": "true" }, ICONS[event.kind] ?? "·"),
    el("span.text", {}, event.message));
}
