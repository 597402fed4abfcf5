// The data that the server pushes, and requests to the server. The newest sample of each kind is kept, and pages
// subscribe to kinds. The last ten minutes of metrics stay in the page's memory.

import { address } from "./address.js";

const HISTORY_SECONDS = 600;
const MAX_EVENTS = 2000;
const RETRY_MILLISECONDS = 3000;

const newest = new Map();
const subscribers = new Map();

/** Events of the time line, the oldest first. */
export const events = [];
/** Samples of metrics: {time, values}, the oldest first. */
export const history = [];

/** Samples of the statistics of requests, the oldest first. */
export const requestHistory = [];

/** Returns the newest value of a kind. */
export function latest(kind) {
  return newest.get(kind);
}

/**
 * Calls a function at once with the newest value of a kind, and then with each new value.
 * @returns {() => void} ends the subscription
 */
export function subscribe(kind, callback) {
  if (!subscribers.has(kind)) subscribers.set(kind, new Set());
  subscribers.get(kind).add(callback);
  if (newest.has(kind)) callback(newest.get(kind));
  return () => subscribers.get(kind).delete(callback);
}

function publish(kind, value) {
  newest.set(kind, value);
  for (const callback of subscribers.get(kind) ?? []) callback(value);
}

function keep(samples, sample) {
  // After a reconnection, the server sends its newest sample again.
  if (samples.length && samples[samples.length - 1].time >= sample.time) return;
  samples.push(sample);
  while (samples[0].time < sample.time - HISTORY_SECONDS) samples.shift();
}

let number = 0;

const HANDLERS = {
  metrics: (sample) => keep(history, sample),
  requests: (sample) => keep(requestHistory, sample),
  events(list) {
    // After a reconnection, the server sends known events again.
    const fresh = list.filter((event) => event.number > number);
    if (!fresh.length) return;
    number = fresh[fresh.length - 1].number;
    // Leaders that moved a moment later extend an event.
    const replaced = new Set(fresh.map((event) => event.replaces).filter(Boolean));
    if (replaced.size) events.splice(0, events.length, ...events.filter((event) => !replaced.has(event.number)));
    events.push(...fresh);
    if (events.length > MAX_EVENTS) events.splice(0, events.length - MAX_EVENTS);
    publish("fresh events", fresh);
  },
};

/** Opens the stream. */
export function open(kinds) {
  const source = new EventSource(address("/api/stream"));
  source.onopen = () => publish("link", true);
  source.onerror = () => {
    if (isLocked()) { source.close(); return; }
    publish("link", false);
    // EventSource reconnects automatically, unless the response is an error.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => reopen(kinds), RETRY_MILLISECONDS);
  };
  for (const kind of kinds) {
    source.addEventListener(kind, (message) => {
      const value = JSON.parse(message.data);
      HANDLERS[kind]?.(value);
      publish(kind, value);
    });
  }
  // Otherwise, the browser keeps the connection of a page that the user has left.
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}

// A console that was restarted has another token, with which this page cannot find out anything more.
async function reopen(kinds) {
  await get("/api/about").catch(() => {});
  if (!isLocked()) open(kinds);
}

/** Whether this page's token is no longer valid, which its header says once. */
export function isLocked() {
  return latest("link") === "locked";
}

/** An error response. Its details are {name, code, remedy, maybe_done}, if it is one of the cluster. */
class Problem extends Error {
  constructor(message, details = {}) {
    super(message);
    this.details = details;
  }
}

/** Requests JSON about this cluster. */
export async function get(path, parameters = {}, options = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  return request(address(`${path}${query.size ? `?${query}` : ""}`), options);
}

/** Requests the clusters of a console of several. */
export async function getClusters() {
  return request("/api/clusters", {});
}

/** Sends JSON, for changes of this cluster. */
export async function post(path, body) {
  return request(address(path), { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("the console does not respond: it may have ended", { maybe_done: options.method === "POST" });
  }
  if (response.status === 401) {
    if (!isLocked()) publish("link", "locked");
    throw new Problem("the console was restarted");
  }
  const body = await response.json().catch(() => ({ message: response.statusText }));
  if (!response.ok) throw new Problem(body.message, body);
  return body;
}
