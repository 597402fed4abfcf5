// The brokers of a simulation as compact tiles, the faults that are active, and the counts of its records.

import { brokerColor } from "../colors.js";
import { el, replace } from "../dom.js";
import { bytes, count, counted } from "../format.js";

/** Draws the counts of records, and how full the producer's buffer is. */
export function drawTraffic(list, { traffic }) {
  const item = (name, value, label, state = "") => el(`li${state && `.${state}`}`, { "data-count": name }, el("b", {}, value), ` ${label}`);
  const used = traffic.buffer_total - traffic.buffer_available;
  const full = traffic.buffer_total ? used / traffic.buffer_total : 0;
  replace(list,
    item("sent", count(traffic.sent), "sent"),
    item("acknowledged", count(traffic.acknowledged), "acknowledged"),
    item("read", count(traffic.read), "read"),
    item("retries", count(traffic.retries), "sent again"),
    item("lost", count(traffic.failed), "failed", traffic.failed ? "bad" : ""),
    item("buffer", `${Math.round(100 * full)} %`, `of the buffer of ${bytes(traffic.buffer_total)} used`, full > 0.9 ? "warn" : ""));
}

/** Draws the brokers by rack, and the faults. */
export function drawCluster(racks, faults, state) {
  const names = [...new Set(state.brokers.map((broker) => broker.rack))].sort();
  replace(racks, names.map((rack) => el("section.rack", { "aria-label": `rack ${rack}` }, el("h4", {}, `rack ${rack}`),
    el("ul.tiles", {}, state.brokers.filter((broker) => broker.rack === rack).map((broker) => tile(broker, state))))));
  replace(faults, state.faults.length
    ? [el("h4", {}, "Faults"), el("ul.plain", { "aria-label": "Faults" }, state.faults.map((fault) => el("li", {}, `${fault.text}: ${counted(fault.hits, "request")} so far`)))]
    : null);
}

function tile(broker, state) {
  const elsewhere = broker.advertised !== broker.address;
  const led = broker.leads.map((index) => el("span.cell", { "data-partition": index, style: { "--broker": brokerColor(broker.id) } }, index));
  return el(`li.tile${broker.running ? "" : ".ghost"}`, { "data-broker": broker.id, "data-running": String(broker.running) },
    el("div.head", { style: { "--broker": brokerColor(broker.id) } }, el("b", {}, `broker ${broker.id}`),
      el("span.link", {}, broker.running ? "● running" : "✗ down")),
    el("p.address", {}, broker.address),
    elsewhere ? el("p.warn", {}, `advertises ${broker.advertised}`) : null,
    el("p", {}, led.length ? [`leads ${state.topic}: `, el("span.led", {}, led)] : "leads nothing"),
    el("p", {}, broker.running ? counted(broker.connections, "connection") : "no connections",
      state.coordinator === broker.id ? el("span", {}, " · ", el("b", {}, `coordinator of ${state.group}`)) : null));
}
