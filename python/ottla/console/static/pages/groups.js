// The Groups page: the groups with their lag, and one group with its members, its partitions and resets.

import { el, replace, setText, table } from "../dom.js";
import { count, counted } from "../format.js";
import { openGroup } from "../group.js";
import { GROUP_HEADS, groupRow } from "../group_row.js";
import * as intervals from "../intervals.js";
import { field } from "../plan_form.js";
import { repeat } from "../repeat.js";
import { get } from "../stream.js";

export const name = "groups";
export const title = "Groups";
export const lead = "Groups, their members and partitions, and their lag in records and seconds.";

/** Shows the page. Returns a function that closes it. */
export function open(content, query) {
  if (query.has("group")) return openGroup(content, query.get("group"));
  const found = el("p.found", { role: "status" }, "looking up groups …");
  const search = el("input", { type: "search", id: "group-search", placeholder: "part of an id", autocomplete: "off", spellcheck: "false" });
  const order = el("select", { id: "group-order" }, ORDERS.map(([value, text]) => el("option", { value }, text)));
  const missing = el("div");
  const list = el("div");
  content.append(el("div.controls", {}, field("Find", search), field("Order", order), found), missing, list);
  let number = 0;
  const refresh = async () => {
    // A slow response does not replace that of a newer search.
    const mine = number += 1;
    const page = await get("/api/groups", { q: search.value.trim(), order: order.value });
    if (mine !== number) return;
    setText(found, limitText(page));
    showMissing(missing, page);
    const none = page.all ? "No group has this in its id." : page.errors.length ? "No group could be listed." : "There are no groups.";
    replace(list, page.rows.length ? table("Groups", GROUP_HEADS, page.rows.map(groupRow)) : el("p", {}, none));
  };
  const onError = (error) => setText(found, error.message);
  let timer;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => refresh().catch(onError), 150); });
  order.addEventListener("change", () => refresh().catch(onError));
  const end = repeat(intervals.GROUPS, refresh, onError);
  return () => { end(); clearTimeout(timer); number += 1; };
}

const ORDERS = [["lag", "largest lag"], ["behind", "longest behind"], ["name", "name"], ["members", "most members"], ["errors", "not asked first"]];

/** How many groups are listed, of those that were found. */
export function limitText({ rows, total, all }) {
  if (rows.length < total) return `${count(rows.length)} of ${counted(total, "group")}; filter to see others`;
  return total < all ? `${count(total)} of ${counted(all, "group")}` : counted(all, "group");
}

/** Shows what could not be asked. */
export function showMissing(element, { errors, failed, failure }) {
  const texts = errors.map((error) => `Groups may be missing: ${error}`);
  if (failed) texts.unshift(`${counted(failed, "group")} could not be asked for offsets, so their lag is unknown. The first reason: ${failure}`);
  const shown = texts.join("\n");
  if (element.dataset.shown === shown) return;
  element.dataset.shown = shown;
  replace(element, texts.map((text) => el("p.notice", {}, text)));
}
