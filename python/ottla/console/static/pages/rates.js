// The Rates page: the client's traffic over the last ten minutes, its slowest requests, and its retries.

import { chart } from "../chart.js";
import { el, replace, setText, table } from "../dom.js";
import { bytes, count, number, seconds } from "../format.js";
import * as intervals from "../intervals.js";
import { repeat } from "../repeat.js";
import { get, history, latest, subscribe } from "../stream.js";

export const name = "rates";
export const title = "Rates";
export const lead = "What is written to the cluster, and the requests, bytes and records of this client.";

// The rates of the client cover these seconds: it sends some requests every few seconds only, and a shorter rate
// would alternate with zeros.
const WINDOW_SECONDS = 10;

const CLIENT = [
  { title: "Requests", unit: "per second", series: [["sent", rate("request-total")], ["received", rate("response-total")]] },
  { title: "Bytes", unit: "per second", format: bytes, series: [["sent", rate("outgoing-byte-total")], ["received", rate("incoming-byte-total")]] },
  { title: "Latency", unit: "of requests", format: (ms) => seconds(ms === null ? null : ms / 1000), series: [["average", value("request-latency-avg")], ["largest", value("request-latency-max")]] },
];
const PRODUCER = [
  { title: "Records", unit: "per second", series: [["sent", rate("record-send-total")], ["sent again", rate("record-retry-total")], ["failed", rate("record-error-total")]] },
  { title: "Buffer", unit: "in use", format: bytes, series: [["used", used], ["size", value("buffer-total-bytes")]] },
  { title: "Batches", unit: "average size", format: bytes, series: [["on the wire", value("batch-size-avg")]] },
  { title: "Records a request", unit: "average", series: [["records", value("records-per-request-avg")]] },
  { title: "Compression", unit: "compressed to uncompressed size", series: [["ratio", value("compression-rate-avg")]] },
];

/** Shows the page. Returns a function that closes it. */
export function open(content) {
  const charts = el("div.charts");
  const details = el("div");
  const cluster = el("div.charts");
  const writes = el("div");
  const problem = el("p.found", { role: "status" }, "measuring what is written …");
  content.append(el("section", {}, el("h3", {}, "The cluster"), problem, cluster, writes),
    el("section", {}, el("h3", {}, "This client"), charts), details);
  const written = chart({ title: "Written", unit: "records per second in all topics", series: [["records", (sample) => sample.records]] });
  cluster.append(written.element);
  let drawn = [];
  const make = () => {
    if (drawn.length || !latest("metrics")) return;
    const isProducer = "record-send-total" in latest("metrics").values;
    drawn = (isProducer ? [...CLIENT, ...PRODUCER] : CLIENT).map((each) => chart(each));
    replace(charts, drawn.map((each) => each.element));
  };
  const ends = [
    repeat(intervals.WRITES, async () => {
      const found = await get("/api/writes");
      const samples = found.history.map(([time, records]) => ({ time, records }));
      setText(problem, samples.length ? "By the end offsets of all partitions, and the sizes of their logs." : "measuring what is written …");
      written.draw(samples);
      if (samples.length) replace(writes, busiest(found.topics), byBroker(found.brokers));
    }, (error) => setText(problem, error.message)),
    subscribe("metrics", () => { make(); drawn.forEach((each) => each.draw(history)); }),
    subscribe("requests", (requests) => replace(details, slowest(requests), retries(requests))),
  ];
  return () => { ends.forEach((end) => end()); written.close(); drawn.forEach((each) => each.close()); };
}

// A rate computed from two samples of a total, because the metrics' own rates are averages over half a minute.
function rate(name) {
  return (sample, samples, index) => {
    let first = index;
    while (first > 0 && sample.time - samples[first].time < WINDOW_SECONDS) first -= 1;
    const before = samples[first];
    if (sample.values[name] === undefined || sample.time <= before.time) return null;
    return Math.max(0, (sample.values[name] - before.values[name]) / (sample.time - before.time));
  };
}

function value(name) {
  return (sample) => sample.values[name] ?? null;
}

function used(sample) {
  return sample.values["buffer-total-bytes"] - sample.values["buffer-available-bytes"];
}

const rateCell = (value, format) => el("td.number", {}, value === null ? "–" : `${format(value)}/s`);

function busiest(topics) {
  if (!topics.length) return el("p.found", {}, "No topic is written to.");
  const rows = topics.map((each) => [el("a", { href: `#/map?topic=${encodeURIComponent(each.topic)}`, "data-key": `topic ${each.topic}` }, each.topic), rateCell(each.records, number), rateCell(each.bytes, bytes)]);
  return el("section", {}, el("h4", {}, "Busiest topics"), table("Busiest topics", ["topic", "records", "growth of the leaders' logs"], rows));
}

function byBroker(brokers) {
  const rows = brokers.map((each) => [el("a", { href: `#/map?broker=${each.broker}`, "data-key": `broker ${each.broker}` }, `broker ${each.broker}`), rateCell(each.records, number), rateCell(each.bytes, bytes)]);
  return el("section", {}, el("h4", {}, "Brokers"), table("Writes by broker", ["broker", "records as leader", "growth of all replicas"], rows));
}

function slowest(requests) {
  if (!requests.slowest.length) return null;
  const rows = requests.slowest.map((each) => [each.api, each.address, seconds(each.latency), `${seconds(each.age)} ago`]);
  return el("section", {}, el("h3", {}, "Slowest requests of the last ten minutes"), table("Slowest requests", ["API", "broker", "time", "when"], rows));
}

function retries(requests) {
  const causes = Object.entries(requests.retries).sort(([, a], [, b]) => b - a);
  const rows = causes.map(([cause, times]) => [cause, count(times)]);
  return el("section", {}, el("h3", {}, "Retries by cause"),
    rows.length ? table("Retries by cause", ["cause", "times"], rows) : el("p", {}, "No retries."));
}
