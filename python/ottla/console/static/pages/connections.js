// The Connections page: each connection by broker and role, its setup phase by phase, and its state.

import { brokerColor } from "../colors.js";
import { el, replace, setText } from "../dom.js";
import { clock, count, counted, seconds } from "../format.js";
import { events, latest, subscribe } from "../stream.js";
import { cadences } from "../cadences.js";

export const name = "connections";
export const title = "Connections";
export const lead = "The connections of this client: one for each broker and role, opened when it is needed.";

const PHASES = ["DNS", "TCP", "TLS", "ApiVersions", "SASL"];
const STATES = { connected: "connected", connecting: "connecting", backing_off: "waits after a failure", disconnected: "not connected" };
const ROLES = { bootstrap: "bootstrap", data: "data", coordinator: "group coordinator", "transaction coordinator": "transaction coordinator" };

/** Shows the page. Returns a function that closes it. */
export function open(content) {
  const summary = el("p.found", { role: "status" });
  const list = el("ul.connections", { "aria-label": "Connections" });
  const cadence = el("div");
  content.append(summary, list, cadence);
  const opened = new Set();
  const draw = () => {
    const connections = latest("connections") ?? [];
    const connected = connections.filter((each) => each.state === "connected").length;
    setText(summary, `${counted(connected, "open connection")} of ${count(connections.length)}`);
    replace(list, connections.map((connection, i) => item(connection, `${connection.broker} ${connection.role} ${i}`, opened)),
      lostConnections(connections).map(lostItem));
  };
  const ends = [
    subscribe("connections", draw),
    subscribe("fresh events", draw),
    subscribe("requests", (requests) => replace(cadence, cadences(requests))),
  ];
  return () => ends.forEach((end) => end());
}

// The last event of each broker's connections, if it is their loss and the broker has no open one. A broker that
// has left the metadata has no connection any more that could show the cause.
function lostConnections(connections) {
  const lost = new Map();
  for (const event of events) {
    if (event.kind === "connection_lost") lost.set(event.broker, { ...event, time: lost.get(event.broker)?.time ?? event.since ?? event.time });
    if (event.kind === "connection_opened") lost.delete(event.broker);
  }
  const known = new Set(connections.filter((each) => each.state === "connected" || each.last_error).map((each) => each.broker));
  return [...lost.values()].filter((event) => event.broker !== null && !known.has(event.broker));
}

function lostItem(event) {
  return el("li.connection.lost", { "data-broker": event.broker, "data-state": "lost" },
    el("div.head", { style: { "--broker": brokerColor(event.broker) } }, el("b", {}, `broker ${event.broker}`), el("span", {}, "lost")),
    el("p.error", {}, el("b", {}, "cause: "), event.message),
    el("p", {}, "lost at ", el("time", { datetime: new Date(event.time * 1000).toISOString() }, clock(event.time)), ", not open again since"));
}

function item(connection, key, opened) {
  const versions = Object.entries(connection.api_versions);
  const details = versions.length
    ? el("details", { open: opened.has(key), ontoggle: (event) => { if (event.target.open) opened.add(key); else opened.delete(key); } },
        el("summary", { "data-key": key }, `versions negotiated: ${counted(versions.length, "API")}`),
        el("ul.versions", {}, versions.map(([api, version]) => el("li", {}, `${api} `, el("b", {}, `v${version}`)))))
    : null;
  const broker = connection.broker < 0 ? "bootstrap server" : `broker ${connection.broker}`;
  return el("li.connection", { "data-broker": connection.broker, "data-role": connection.role, "data-state": connection.state },
    el("div.head", { style: { "--broker": connection.broker < 0 ? "transparent" : brokerColor(connection.broker) } }, el("b", {}, broker), el("span", {}, ROLES[connection.role] ?? connection.role)),
    el("p.address", {}, connection.address),
    phases(connection),
    el("dl.facts", {},
      fact("state", STATES[connection.state] ?? connection.state),
      fact("open for", connection.connected_for === null ? null : seconds(connection.connected_for)),
      fact("round trip", connection.round_trip_time === null ? null : seconds(connection.round_trip_time)),
      fact("in flight", count(connection.in_flight)),
      fact("throttled for", connection.throttled_for === null ? null : seconds(connection.throttled_for))),
    connection.last_error ? el("p.error", {}, el("b", {}, "last error: "), connection.last_error) : null,
    details);
}

function fact(label, value) {
  return value === null ? null : el("div", {}, el("dt", {}, label), el("dd", {}, value));
}

// DNS → TCP → TLS → ApiVersions → SASL → ready, with the times of the completed phases. The others are not used or
// not reached.
function phases(connection) {
  const times = new Map(connection.phases);
  const reached = connection.phases.length ? connection.phases[connection.phases.length - 1][0] : null;
  const failed = connection.state === "backing_off" || (connection.state === "disconnected" && connection.last_error !== null);
  const ready = connection.state === "connected";
  const known = times.has("Metadata") ? [...PHASES, "Metadata"] : PHASES;
  const steps = known.map((phase) => {
    const time = times.get(phase);
    if (time === undefined) return step(phase, ready ? "unused" : "open", ready ? "not used" : "");
    if (ready || phase !== reached) return step(phase, "passed", seconds(time));
    if (connection.state === "connecting") return step(phase, "running", `${seconds(time)} …`);
    return step(phase, failed ? "failed" : "passed", failed ? "failed" : seconds(time));
  });
  const total = connection.phases.reduce((sum, [, time]) => sum + time, 0);
  return el("ol.phases", { "aria-label": "Setup" }, steps, step("ready", ready ? "passed" : "open", ready && total ? `in ${seconds(total)}` : ""));
}

function step(phase, state, text) {
  return el(`li.${state}`, { "data-phase": phase, "data-phase-state": state }, el("b", {}, phase), el("small", {}, text));
}
