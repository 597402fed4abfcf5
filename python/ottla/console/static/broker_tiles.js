// Brokers as tiles, grouped by rack: the partitions that each leads, and this client's connections to it. A
// broker that only replica lists name is a ghost tile.

import { brokerColor } from "./colors.js";
import { el } from "./dom.js";
import { bytes, count, counted, seconds } from "./format.js";

// Kafka advises against more replicas on one broker, since they make failover slow.
const ADVISED_REPLICAS = 4000;
/** In larger clusters, tiles only show numbers. */
export const MAX_DETAILED = 60;

/**
 * Returns the tiles of all brokers.
 * @param {object} cluster the newest sample of the cluster
 * @param {object[]} connections this client's connections
 * @param {object[]} logDirs the log directories that brokers report
 * @param {(broker: number) => boolean} isChanged whether to animate a tile
 */
export function brokerTiles(cluster, connections, logDirs, isChanged) {
  const racks = new Map();
  for (const broker of cluster.brokers) {
    const rack = broker.missing ? "missing" : broker.rack ?? "";
    if (!racks.has(rack)) racks.set(rack, []);
    racks.get(rack).push(broker);
  }
  const compact = cluster.brokers.length > MAX_DETAILED;
  const most = Math.max(1, ...cluster.brokers.map((broker) => broker.replicas));
  const names = [...racks.keys()].sort((a, b) => (a === "missing") - (b === "missing") || a.localeCompare(b));
  return names.map((rack) => {
    const title = rack === "missing" ? "not in the metadata" : rack ? `rack ${rack}` : "no rack";
    const tiles = racks.get(rack).map((broker) => tile(broker, most, connections.filter((each) => each.broker === broker.id), compact, logDirs.filter((each) => each.broker === broker.id), isChanged(broker.id)));
    return el("section.rack", { "aria-label": title }, el("h3", {}, title), el("ul.tiles", {}, tiles));
  });
}

function tile(broker, most, connections, compact, logDirs, isChanged) {
  const moved = isChanged ? ".moved" : "";
  const head = el("div.head", { style: { "--broker": brokerColor(broker.id) } }, el("b", {}, el("a", { href: `#/map?broker=${broker.id}`, "data-key": `broker ${broker.id}` }, `broker ${broker.id}`)), state(connections));
  if (broker.missing) {
    return el(`li.tile.ghost${moved}`, { "data-broker": broker.id }, head, el("p", {}, `${counted(broker.replicas, "replica")} assigned, but the broker is down or gone`));
  }
  return el(`li.tile${moved}`, { "data-broker": broker.id }, head,
    el("p.address", { title: broker.address }, broker.address),
    compact ? el("p", {}, `leads ${count(broker.leads)} of ${count(broker.replicas)}`) : numbers(broker, most), logDirs.map(disk));
}

function disk(directory) {
  const { path, total_bytes: total, usable_bytes: usable, replica_bytes: held } = directory;
  if (directory.error) return el("p.disk.bad", {}, `${path}: ${directory.error}`);
  if (total === null || usable === null) return el("p.disk", {}, `${path}: ${bytes(held)} of replicas`);
  return el("p.disk", { title: `${path}: ${bytes(usable)} of ${bytes(total)} are free` },
    el("span.path", {}, path), `: ${bytes(held)} of replicas, disk ${Math.round((100 * (total - usable)) / total)} % full`, bar(total - usable, total));
}

function state(connections) {
  const open = connections.filter((each) => each.state === "connected");
  if (open.length) {
    const times = open.map((each) => each.round_trip_time).filter((time) => time !== null);
    return el("span.link.good", {}, times.length ? `● ${seconds(Math.min(...times))}` : "● connected");
  }
  if (connections.some((each) => each.state === "connecting")) return el("span.link.wait", {}, "◌ connecting");
  if (connections.some((each) => each.state === "backing_off")) return el("span.link.bad", {}, "✗ failed");
  return el("span.link", {}, "○ not connected");
}

function numbers(broker, most) {
  const off = broker.leads - broker.preferred;
  return [el("dl", {},
    el("div", {}, el("dt", {}, "leads"), el("dd", {}, count(broker.leads), bar(broker.leads, most))),
    el("div", {}, el("dt", {}, "preferred"), el("dd", {}, count(broker.preferred), off ? ` (${off > 0 ? "+" : "−"}${count(Math.abs(off))})` : "", bar(broker.preferred, most))),
    el("div", {}, el("dt", {}, "replicas"), el("dd", {}, count(broker.replicas), bar(broker.replicas, most)))),
    broker.replicas > ADVISED_REPLICAS ? el("p.warn", {}, `more than the ${count(ADVISED_REPLICAS)} replicas that Kafka advises`) : null];
}

function bar(value, most) {
  return el("span.bar-track", { "aria-hidden": "true" }, el("span.bar-fill", { style: { width: `${(100 * value) / most}%` } }));
}
