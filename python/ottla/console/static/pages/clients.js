// The Clients page: the connections through gateways, whose clients these are, and what happened to them lately.

import { el, replace, setText, table } from "../dom.js";
import { clock, count, counted } from "../format.js";
import { CLIENTS } from "../intervals.js";
import { field } from "../plan_form.js";
import { repeat } from "../repeat.js";
import { get } from "../stream.js";

export const name = "clients";
export const title = "Clients";
export const lead = "Who is connected through the gateway, with what, for what, and what went wrong.";

const HEADS = ["client", "user", "from", "for", "broker", "requests / s", "in flight", "throttled", "errors"];

/** Shows the page. Returns a function that closes it. */
export function open(content) {
  const search = el("input", { type: "search", id: "client-search", placeholder: "client, user, group, error …", autocomplete: "off", spellcheck: "false" });
  const found = el("p.found", { role: "status" }, "looking up connections …");
  const problem = el("p.notice.bad", { role: "alert", hidden: true });
  const rows = el("section");
  const list = el("ol.events", { "aria-label": "Events of the gateways", tabindex: "0" });
  content.append(el("div.controls", {}, field("Find", search), found), problem, rows, el("section.time-line", {}, el("h3", {}, "Time line"), list));
  const say = (text) => { problem.hidden = !text; setText(problem, text); };

  // The requests of each connection at the time before.
  let before = new Map();
  let closed = false;
  const show = (page, at) => {
    const key = (row) => `${row.gateway} ${row.id}`;
    const rate = (row) => {
      const last = before.get(key(row));
      return last ? Math.max(0, row.requests - last.requests) / ((at - last.at) / 1000) : null;
    };
    replace(rows, page.rows.length ? table("Connections", HEADS, page.rows.map((row) => cells(row, rate(row)))) : el("p", {}, "No connection."));
    before = new Map(page.rows.map((row) => [key(row), { requests: row.requests, at }]));
    const shown = page.rows.length < page.total ? `, of which the ${count(page.rows.length)} with errors or most requests are shown` : "";
    const of = page.total < page.all ? `${count(page.total)} of ` : "";
    setText(found, `${of}${counted(page.all, "connection")}${shown}`);
    say(page.problems.join("; "));
    replace(list, page.events.length ? page.events.slice().reverse().map(entry) : el("li", {}, "Nothing happened lately."));
  };
  const load = async () => {
    const page = await get("/api/clients", { q: search.value.trim() });
    if (!closed) show(page, performance.now());
  };
  const stop = repeat(CLIENTS, load, (error) => { setText(found, ""); say(`The connections are unknown: ${error.message}`); });
  let timer;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => load().catch((error) => say(error.message)), 150); });
  return () => { closed = true; stop(); clearTimeout(timer); };
}

function cells(row, rate) {
  const number = (text) => el("td.number", {}, text);
  const errors = Object.entries(row.errors);
  const busiest = Object.entries(row.by_api).sort((a, b) => b[1] - a[1]).map(([api, n]) => `${api} ${count(n)}`).join(", ");
  return [
    el("span", { title: row.software ?? "" }, row.client_id || "–", row.software ? el("small", {}, ` ${row.software}`) : null),
    row.user ?? "–",
    row.peer,
    [row.roles.join(", ") || "–", row.names.length ? el("small", {}, ` ${row.names.join(", ")}`) : null],
    row.broker === null ? "bootstrap" : String(row.broker),
    el("td.number", { title: busiest }, rate === null ? "–" : rate < 10 ? rate.toFixed(1) : count(Math.round(rate))),
    number(count(row.in_flight)),
    number(row.throttled ? `${row.throttled.toFixed(1)} s` : "–"),
    el(`td${errors.length ? ".bad" : ""}`, {}, errors.map(([code, n]) => `${code} ${count(n)}`).join(", ") || "–"),
  ];
}

const BAD = new Set(["broker_left", "cluster_lost", "connection_failed", "fault_hit", "refused"]);
const ICONS = { broker_joined: "+", broker_left: "✗", broker_moved: "→", cluster_lost: "✗", cluster_found: "●", coordinator_moved: "⇄", denied: "⊘", refused: "○", connection_failed: "○", fault_injected: "!", fault_removed: "!", fault_hit: "!" };

function entry(event) {
  const at = Date.parse(event.time);
  return el(`li${BAD.has(event.kind) ? ".bad" : ""}`, { "data-kind": event.kind },
    el("time", { datetime: event.time }, clock(at / 1000)),
    el("span.icon", { "aria-hidden": "true" }, ICONS[event.kind] ?? "·"),
    el("span.text", {}, event.text));
}
