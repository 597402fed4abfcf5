// The Groups page: the groups with their lag, and one group with its members, its partitions and resets.

import { el, replace, setText, table } from "../dom.js";
import { count } from "../format.js";
import { openGroup } from "../group.js";
import { GROUP_HEADS, groupRow } from "../group_row.js";
import * as intervals from "../intervals.js";
import { repeat } from "../repeat.js";
import { get } from "../stream.js";

export const name = "groups";
export const title = "Groups";
export const lead = "Groups, their members and partitions, and their lag in records and seconds.";

// The largest lags come first; the search finds the others.
const MAX_ROWS = 300;

/** Shows the page. Returns a function that closes it. */
export function open(content, query) {
  if (query.has("group")) return openGroup(content, query.get("group"));
  const found = el("p.found", { role: "status" }, "looking up groups …");
  const search = el("input", { type: "search", id: "group-search", placeholder: "part of an id", autocomplete: "off", spellcheck: "false" });
  const list = el("div");
  content.append(el("div.controls", {}, el("label", { for: "group-search" }, "Find"), search, found), list);
  let groups = [];
  const draw = () => {
    const wanted = search.value.trim().toLowerCase();
    const shown = groups.filter((group) => group.group_id.toLowerCase().includes(wanted));
    setText(found, `${count(shown.length)} of ${count(groups.length)} groups${shown.length > MAX_ROWS ? `; the ${MAX_ROWS} with the largest lags are listed` : ""}`);
    replace(list, groups.length ? table("Groups", GROUP_HEADS, shown.slice(0, MAX_ROWS).map(groupRow)) : el("p", {}, "There are no groups."));
  };
  search.addEventListener("input", draw);
  return repeat(intervals.GROUPS, async () => {
    groups = await get("/api/groups");
    draw();
  }, (error) => setText(found, error.message));
}
