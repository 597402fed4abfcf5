// The changes of topics: create one; write a record to one, alter it, delete it.

import { about } from "./about.js";
import { el } from "./dom.js";
import { count } from "./format.js";
import { changes, field, line, lines, planForm } from "./plan_form.js";

const href = (topic) => `#/map?topic=${encodeURIComponent(topic)}`;

/** Appends the form that creates a topic, if the console allows changes. */
export async function addCreation(place) {
  if (!(await about).allow_changes) return;
  const topic = line("create-topic", { required: true });
  const partitions = line("create-partitions", { inputmode: "numeric", placeholder: "the cluster's default", size: 16 });
  const replication = line("create-replication", { inputmode: "numeric", placeholder: "the cluster's default", size: 16 });
  const configs = lines("create-configs", { placeholder: "retention.ms=86400000" });
  place.append(changes("Create a topic", planForm({
    id: "create", title: "New topic", path: "/api/change/topics/create",
    lead: "Letters, digits, dots, underscores and hyphens; at most 249.",
    controls: [field("Name", topic), field("Partitions", partitions), field("Replicas", replication), field("Configuration, a key a line", configs)],
    wanted: () => ({ topic: topic.value.trim(), partitions: partitions.value.trim(), replication: replication.value.trim(), configs: configs.value }),
    apply: "Create the topic",
    done: () => ["Created ", el("a", { href: href(topic.value.trim()) }, topic.value.trim()), "."],
  })));
}

/** Appends the forms that change a topic, if the console allows changes. */
export async function addChanges(place, topic) {
  if (!(await about).allow_changes) return;
  place.append(
    changes("Produce a message", production(topic)),
    changes("Change this topic", [configuration(topic), partitions(topic), deletion(topic)]));
}

function production(topic) {
  const form = (id) => el("select", { id }, el("option", { value: "text" }, "text"), el("option", { value: "json" }, "JSON"), el("option", { value: "null" }, "null"));
  const key = line("produce-key");
  const keyAs = form("produce-key-as");
  const value = lines("produce-value", { rows: 4 });
  const valueAs = form("produce-value-as");
  const headers = lines("produce-headers", { placeholder: "name=value" });
  const partition = line("produce-partition", { inputmode: "numeric", placeholder: "chosen by the key", size: 14 });
  keyAs.value = "null";
  // A text in the key is meant to be one.
  key.addEventListener("input", () => { if (key.value && keyAs.value === "null") keyAs.value = "text"; });
  // Two messages may be equal; the id tells a repeated confirmation from a second message.
  let id = newId();
  return planForm({
    id: "produce", title: "One message", path: "/api/change/records/produce",
    lead: "A key or a value is a text as it is, a text that must be JSON, or null. At most 64 KiB together.",
    controls: [field("Key", key), field("Key as", keyAs), field("Value", value), field("Value as", valueAs), field("Headers, one a line", headers), field("Partition", partition)],
    wanted: () => ({ topic, id, key: key.value, key_as: keyAs.value, value: value.value, value_as: valueAs.value, headers: headers.value, partition: partition.value.trim() }),
    apply: "Write the message",
    done: ({ outcome }) => {
      id = newId();
      return outcome.is_known ? written(topic, outcome)
        : el("div.notice", {}, el("p", {}, "The outcome is unknown: the message may have been written. Read the newest messages before you repeat it."), el("p", {}, outcome.reason));
    },
  });
}

function written(topic, { partition, offset }) {
  if (offset === null) return `Written to partition ${partition}, at an offset that the cluster did not report.`;
  return [`Written to partition ${partition} at offset ${count(offset)}. `, el("a", { href: `#/messages?topic=${encodeURIComponent(topic)}` }, "Read messages")];
}

function newId() {
  return [...crypto.getRandomValues(new Uint32Array(4))].join("-");
}

function configuration(topic) {
  const set = lines("config-set", { placeholder: "retention.ms=86400000" });
  const unset = line("config-unset", { placeholder: "retention.bytes" });
  return planForm({
    id: "configure", title: "Configuration", path: "/api/change/topics/configs",
    lead: "Unset keys take the value of the cluster.",
    controls: [field("Set, a key a line", set), field("Unset", unset)],
    wanted: () => ({ topic, set: set.value, unset: unset.value }),
    apply: "Change the configuration",
    done: ({ changes }) => `Changed ${changes.map((each) => each.detail).join(", ")}.`,
  });
}

function partitions(topic) {
  const total = line("partitions-total", { inputmode: "numeric", required: true, size: 10 });
  return planForm({
    id: "partitions", title: "Partitions", path: "/api/change/topics/partitions",
    lead: "Partitions can only be added. Afterwards, keys are assigned to different partitions than before.",
    controls: [field("Total", total)],
    wanted: () => ({ topic, total: total.value.trim() }),
    apply: "Add the partitions",
    done: () => `The topic has ${total.value.trim()} partitions.`,
  });
}

function deletion(topic) {
  return planForm({
    id: "delete", title: "Delete the topic", path: "/api/change/topics/delete",
    lead: "All its records are lost.", typed: topic,
    wanted: () => ({ topic }),
    apply: "Delete the topic",
    done: () => [`Deleted ${topic}. `, el("a", { href: "#/map" }, "All topics")],
  });
}
