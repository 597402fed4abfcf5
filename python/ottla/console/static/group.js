// One group: its members and their partitions, the lag of each partition with its trend, and its changes.

import { chart } from "./chart.js";
import { el, replace, setText, table } from "./dom.js";
import { count, counted, number, seconds } from "./format.js";
import { addGroupChanges } from "./group_changes.js";
import { stateOf, trendText } from "./group_row.js";
import * as intervals from "./intervals.js";
import { repeat } from "./repeat.js";
import { get } from "./stream.js";

/** Shows a group. Returns a function that closes the view. */
export function openGroup(content, group) {
  const summary = el("p.found", { role: "status" }, "looking up the group …");
  const members = el("section");
  const lags = el("section");
  const changes = el("div.all-changes");
  // The lag during the session: what the console saw before, and what this page sees.
  const session = [];
  const lagChart = chart({ title: "Lag", unit: "records during this session", format: count, minutes: 60, series: [["records", (sample) => sample.lag]] });
  content.append(el("p", {}, el("a", { href: "#/groups" }, "← all groups")), el("h3", {}, group), summary, el("div.charts", {}, lagChart.element), lags, members, changes);
  addGroupChanges(changes, group);
  const end = repeat(intervals.GROUP, async () => {
    const found = await get("/api/group", { name: group });
    draw(found);
    if (!session.length) session.push(...found.history.map(([time, lag]) => ({ time, lag })));
    const last = session[session.length - 1];
    if (found.has_lag && !found.lag_error && (!last || last.time < found.time)) session.push({ time: found.time, lag: found.partitions.reduce((sum, each) => sum + (each.lag ?? 0), 0) });
    if (session.length > 1200) session.shift();
    lagChart.element.hidden = !found.has_lag || Boolean(found.lag_error);
    lagChart.draw(session);
  }, (error) => setText(summary, error.message));
  return () => { end(); lagChart.close(); };

  function draw(found) {
    const known = found.partitions.map((each) => each.lag).filter((lag) => lag !== null);
    const total = known.reduce((sum, lag) => sum + lag, 0);
    const oldest = Math.max(0, ...found.partitions.map((each) => each.lag_ms ?? 0));
    const parts = [found.type, found.assignor ? `assignor ${found.assignor}` : null, `coordinator: broker ${found.coordinator}`, counted(found.all_members, "member")];
    const text = [found.state, ...parts].filter(Boolean).join(" · ");
    if (summary.dataset.text !== text) replace(summary, stateOf(found.state), ` · ${parts.filter(Boolean).join(" · ")}`);
    summary.dataset.text = text;
    replace(members, el("h3", {}, "Members"), found.members.length ? table("Members", ["member", "client", "host", "partitions"], found.members.map(member)) : el("p", {}, "The group has no members."),
      found.all_members > found.members.length ? el("p", {}, `+ ${count(found.all_members - found.members.length)} more members`) : null);
    if (!found.has_lag) {
      replace(lags, el("p", {}, `Groups of type ${found.type} have no committed offsets: there is no lag.`));
      return;
    }
    if (found.lag_error) {
      replace(lags, el("p.notice", {}, `The lag is unknown: ${found.lag_error}`));
      return;
    }
    replace(lags,
      el("p.big", {}, "lag ", el("b", { id: "total-lag", "data-lag": total }, count(total)), " records", oldest ? `, the oldest of them ${seconds(oldest / 1000)} old` : "", " · ", totalTrend(found.trend)),
      found.partitions.length ? table("Lag by partition", ["partition", "committed", "end", "lag", "behind", "read/s", "written/s", "cleared in", "member"], found.partitions.map(partition)) : el("p", {}, "The group has committed nothing."),
      found.total > found.partitions.length ? el("p", {}, `+ ${count(found.total - found.partitions.length)} more partitions`) : null);
  }
}

function member(each) {
  const held = new Map();
  for (const [topic, index] of each.assignment) held.set(topic, [...(held.get(topic) ?? []), index]);
  const texts = [...held].map(([topic, indexes]) => `${topic}: ${indexes.join(", ")}`);
  return [each.instance_id ? `${each.member_id} (${each.instance_id})` : each.member_id, each.client_id, each.host, texts.join("; ") || "nothing"];
}

function partition(each) {
  const { trend } = each;
  const cell = (text, attributes = {}) => el("td.number", attributes, text);
  return [`${each.topic}-${each.partition}`, cell(count(each.committed)), cell(count(each.end)), cell(count(each.lag), { "data-lag": each.lag ?? "" }),
    cell(each.lag_ms === null ? "–" : seconds(each.lag_ms / 1000)), cell(trend ? number(trend.read) : "–"), cell(trend ? number(trend.written) : "–"),
    cell(clearedIn(trend)), each.client_id ? `${each.client_id} at ${(each.host ?? "").replace(/^\//, "")}` : "nobody"];
}

function clearedIn(trend) {
  if (!trend || trend.state === "unknown") return "–";
  if (trend.state === "keeping_up") return "keeps up";
  return trend.state === "shrinking" ? seconds(trend.seconds_to_clear) : "not shrinking";
}

function totalTrend(trend) {
  if (!trend || trend.state === "unknown") return "measuring its trend …";
  const isKnown = trend.read !== null && trend.written !== null;
  return [isKnown ? `${number(trend.read)} read and ${number(trend.written)} written per second: ` : "", trendText(trend)];
}
