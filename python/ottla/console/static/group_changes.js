// The changes of a group, apart from resets: delete committed offsets, and the group.

import { about } from "./about.js";
import { el } from "./dom.js";
import { counted } from "./format.js";
import { changes, field, line, planForm } from "./plan_form.js";

/** Appends the forms, if the console allows changes. */
export async function addGroupChanges(place, group) {
  if (!(await about).allow_changes) return;
  const topics = line("forget-topics", { required: true, placeholder: "orders, or orders:0" });
  place.append(changes("Delete offsets or the group", [
    planForm({
      id: "forget", title: "Delete offsets", path: "/api/change/groups/offsets",
      lead: "Members that read these partitions later begin where auto.offset.reset says.",
      controls: [field("Topics or partitions", topics)],
      wanted: () => ({ group, topics: topics.value }),
      apply: "Delete the offsets",
      done: ({ changes }) => `Deleted ${counted(changes.length, "offset")}.`,
    }),
    planForm({
      id: "delete", title: "Delete the group", path: "/api/change/groups/delete",
      lead: "Its committed offsets are lost. The group must have no members.", typed: group,
      wanted: () => ({ group }),
      apply: "Delete the group",
      done: () => [`Deleted ${group}. `, el("a", { href: "#/groups" }, "All groups")],
    }),
  ]));
}
