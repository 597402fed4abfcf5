// The changes of a group: reset or delete its committed offsets, and delete the group.

import { about } from "./about.js";
import { el } from "./dom.js";
import { counted } from "./format.js";
import { changes, field, line, planForm } from "./plan_form.js";

/** Appends the forms; in a console that is read-only, only the one that plans a reset. */
export async function addGroupChanges(place, group) {
  const isReadOnly = !(await about).allow_changes;
  place.append(changes("Reset offsets", reset(group, isReadOnly)));
  if (isReadOnly) return;
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

function reset(group, isReadOnly) {
  const to = line("reset-to", { required: true, placeholder: "earliest, latest, 12h, +10 …" });
  const topics = line("reset-topics", { placeholder: "all committed topics" });
  return planForm({
    id: "reset", title: "New offsets", path: "/api/change/groups/reset", isReadOnly,
    lead: "To earliest, latest, an offset, a time (2026-11-24T10:00:00Z), how long ago (12h), or +N or -N from the committed offset. The group must have no members.",
    controls: [field("Reset to", to), field("Topics", topics)],
    wanted: () => ({ group, to: to.value, topics: topics.value }),
    apply: "Reset the offsets",
    done: ({ changes }) => `Reset the offsets of ${counted(changes.length, "partition")}.`,
  });
}
