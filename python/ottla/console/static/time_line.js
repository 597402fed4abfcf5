// The time line: events of the cluster and the connections, the newest first, up to the page's limit.

import { el, replace } from "./dom.js";
import { clock, count, counted } from "./format.js";
import { events, subscribe } from "./stream.js";

const SHOWN = 200;

const ICONS = {
  leader_changed: "⇄", leaders_moved: "⇄", broker_added: "+", broker_lost: "✗", broker_moved: "→", topic_appeared: "+", topic_gone: "−",
  topic_recreated: "↻", partitions_added: "+", connection_opened: "●", connection_lost: "○", missed: "…", note: "ℹ", action: "▶",
};
const BAD = new Set(["broker_lost", "connection_lost", "missed"]);

/** Creates the time line: its element, and `close`. */
export function timeLine(title = "Time line") {
  let shown = SHOWN;
  // The events whose details are open, by their first numbers.
  const opened = new Set();
  const list = el("ol.events", { "aria-label": title, tabindex: "0" });
  const more = el("button", { type: "button", onclick: () => { shown += SHOWN; draw(); } }, "Show older events");
  const found = el("p.found");
  const draw = () => {
    const from = Math.max(0, events.length - shown);
    replace(list, events.slice(from).reverse().map((event) => entry(event, opened)));
    found.textContent = events.length ? counted(events.length, "event") : "Nothing has changed since the console started.";
    more.hidden = from === 0;
  };
  draw();
  const end = subscribe("fresh events", draw);
  return { element: el("section.time-line", {}, el("h3", {}, title), found, list, more), close: end };
}

function entry(event, opened) {
  return el(`li${BAD.has(event.kind) ? ".bad" : ""}`, { "data-kind": event.kind },
    el("time", { datetime: new Date(event.time * 1000).toISOString() }, clock(event.time)),
    el("span.icon", { "aria-hidden": "true" }, ICONS[event.kind] ?? "·"),
    event.moves ? movesOf(event, opened) : el("span.text", {}, event.message, event.count > 1 ? el("b", {}, `, ${count(event.count)} times since ${clock(event.since)}`) : null));
}

// One line for the leaders that moved together, which shows each of them on demand.
function movesOf(event, opened) {
  // An event that is extended has another number, but the same broker and first partition.
  const key = `moves ${event.before} ${event.moves[0].topic} ${event.moves[0].partition}`;
  const more = event.count - event.moves.length;
  const body = el("ul.plain");
  const fill = () => replace(body, event.moves.map((move) => el("li", {}, move.message)), more ? el("li", {}, `and ${counted(more, "more leader")}`) : null);
  if (opened.has(key)) fill();
  return el("details.text", { open: opened.has(key), ontoggle: ({ target }) => { if (target.open) { opened.add(key); fill(); } else opened.delete(key); } },
    el("summary", { "data-key": key }, event.message), body);
}
