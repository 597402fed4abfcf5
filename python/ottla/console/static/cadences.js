// The request rates of a client: how often it sends each kind of request, and which were slowest.

import { el, table } from "./dom.js";
import { count, number, seconds } from "./format.js";
import { requestHistory } from "./stream.js";

// The requests that a consumer must send regularly, and what each is for.
const CADENCES = [
  { title: "Fetches", apis: ["Fetch", "ShareFetch"], about: "wait at the leaders for records" },
  { title: "Heartbeats", apis: ["Heartbeat", "ConsumerGroupHeartbeat", "ShareGroupHeartbeat"], about: "keep the member in its group" },
  { title: "Commits", apis: ["OffsetCommit", "ShareAcknowledge"], about: "store the position for the next start" },
];
const WINDOW_SECONDS = 30;

/** Returns the tables for the newest statistics of requests. */
export function cadences(requests) {
  const shown = CADENCES.map(({ title, apis, about }) => {
    const used = apis.filter((api) => requests.by_api[api]);
    if (!used.length) return null;
    const ago = Math.min(...used.map((api) => requests.by_api[api].last_sent));
    const rates = used.map((api) => rateOf(api)).filter((rate) => rate !== null);
    const rate = rates.length ? rates.reduce((sum, each) => sum + each, 0) : null;
    return el("li", { "data-cadence": title }, el("b", {}, title), ` ${about}: `, rate === null ? "" : `${number(rate)}/s, `, `the last one ${seconds(ago)} ago`);
  }).filter(Boolean);
  const rows = Object.entries(requests.by_api).sort(([, a], [, b]) => b.total - a.total).map(([api, each]) =>
    [api, count(each.total), number(rateOf(api)), seconds(each.latency_avg), `${seconds(each.last_sent)} ago`]);
  return [
    shown.length ? el("section", {}, el("h3", {}, "Cadences of the consumer"), el("ul.plain", {}, shown)) : null,
    rows.length ? el("section", {}, el("h3", {}, "Requests by API"), table("Requests by API", ["API", "sent", `per second (${WINDOW_SECONDS} s)`, "average latency", "last sent"], rows)) : null,
  ];
}

// The requests per second of an API, over the last samples. Null before there are two samples.
function rateOf(api) {
  const last = requestHistory[requestHistory.length - 1];
  const first = requestHistory.find((sample) => sample.time >= last.time - WINDOW_SECONDS);
  if (!first || first === last) return null;
  return ((last.by_api[api]?.total ?? 0) - (first.by_api[api]?.total ?? 0)) / (last.time - first.time);
}
