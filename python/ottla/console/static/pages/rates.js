// The Rates page: the client's traffic over the last ten minutes, its slowest requests, and its retries.

import { chart } from "../chart.js";
import { el, replace, table } from "../dom.js";
import { bytes, count, seconds } from "../format.js";
import { history, latest, subscribe } from "../stream.js";

export const name = "rates";
export const title = "Rates";
export const lead = "Requests, bytes and records of this client over the last ten minutes.";

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
  content.append(charts, details);
  let drawn = [];
  const make = () => {
    if (drawn.length || !latest("metrics")) return;
    const isProducer = "record-send-total" in latest("metrics").values;
    drawn = (isProducer ? [...CLIENT, ...PRODUCER] : CLIENT).map((each) => chart(each));
    replace(charts, drawn.map((each) => each.element));
  };
  const ends = [
    subscribe("metrics", () => { make(); drawn.forEach((each) => each.draw(history)); }),
    subscribe("requests", (requests) => replace(details, slowest(requests), retries(requests))),
  ];
  return () => { ends.forEach((end) => end()); drawn.forEach((each) => each.close()); };
}

// A rate computed from two samples of a total, because the metrics' own rates are averages over half a minute.
function rate(name) {
  return (sample, before) => {
    if (!before || sample.values[name] === undefined || sample.time <= before.time) return null;
    return Math.max(0, (sample.values[name] - before.values[name]) / (sample.time - before.time));
  };
}

function value(name) {
  return (sample) => sample.values[name] ?? null;
}

function used(sample) {
  return sample.values["buffer-total-bytes"] - sample.values["buffer-available-bytes"];
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
