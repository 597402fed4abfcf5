// A group in a list: its state by colour, members, lag in records and time, and its trend.

import { el } from "./dom.js";
import { count, number, seconds } from "./format.js";

export const GROUP_HEADS = ["group", "state", "type", "members", "partitions", "lag", "behind", "trend"];

// A group that is stable works; one that rebalances will soon; the others do not read.
const STATES = { Stable: "good", Empty: "soft", Dead: "bad", PreparingRebalance: "warn", CompletingRebalance: "warn", Assigning: "warn", Reconciling: "warn", NotReady: "bad" };

/** A state, as a coloured text. */
export function stateOf(state) {
  return state ? el(`span.state-of.${STATES[state] ?? "soft"}`, {}, state) : "–";
}

/** The cells of a group for `table`. */
export function groupRow(group) {
  const link = el("a", { href: `#/groups?group=${encodeURIComponent(group.group_id)}`, "data-key": `group ${group.group_id}` }, group.group_id);
  const cell = (text, attributes = {}) => el("td.number", attributes, text);
  return [link, stateOf(group.state), group.type ?? "–", cell(count(group.members)), cell(count(group.partitions)),
    group.error ? el("td.number.bad", { title: group.error }, "unknown") : cell(count(group.lag), { "data-lag": group.lag ?? "" }), cell(behindText(group.behind)), trendText(group.trend)];
}

function behindText(behind) {
  if (!behind) return "–";
  if (behind.seconds === 0) return "0 s";
  return `${behind.at_least ? "over " : ""}${seconds(behind.seconds)}`;
}

/** A trend ({state, read, written, seconds_to_clear}) as a short text. */
export function trendText(trend) {
  if (!trend) return "–";
  switch (trend.state) {
    case "keeping_up": return el("span.good", {}, "keeps up");
    case "shrinking": return el("span.good", {}, `cleared in ${seconds(trend.seconds_to_clear)}`);
    case "not_shrinking": return trend.written > 0
      ? el("span.bad", {}, trend.read ? `grows by ${number(Math.max(0, trend.written - trend.read))}/s` : `nothing read, ${number(trend.written)}/s written`)
      : el("span.warn", {}, "nothing read");
    default: return "measuring …";
  }
}
