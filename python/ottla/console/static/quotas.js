// The client quotas of the Access page: whom they limit, and their changes.

import { choice, el, replace, table } from "./dom.js";
import { bytes, count, countedRows } from "./format.js";
import { changes, field, line, planForm } from "./plan_form.js";
import { get } from "./stream.js";

const BYTES = new Set(["producer_byte_rate", "consumer_byte_rate"]);
const QUOTAS = [...BYTES, "request_percentage", "controller_mutation_rate", "connection_creation_rate"];

/**
 * Shows the quotas.
 * @param {HTMLElement} place the element of the list
 * @param {HTMLElement} edit the element of the form; none in a console that is read-only
 * @param {(section: HTMLElement) => void} confirm shows the plan of a removal that a row began
 * @param {(error: Error) => HTMLElement} unknown says why the quotas are unknown
 */
export function openQuotas(place, { edit, mayChange, confirm, unknown }) {
  const load = () => get("/api/quotas").then((found) => replace(place, el("p.found", { role: "status" }, countedRows(found, "quota")),
    found.rows.length ? table("Quotas", ["for", "quota", "limit", ...(mayChange ? ["change"] : [])], found.rows.map(row)) : null)).catch((error) => replace(place, unknown(error)));
  const row = (each) => [each.entity, el("code", {}, each.quota), el("td.number", {}, limit(each)),
    ...(mayChange ? [el("button", { type: "button", "aria-label": `Remove ${each.quota} of ${each.entity}`, onclick: () => confirm(removal(each, load)) }, "Remove …")] : [])];
  if (mayChange) edit.append(changes("Set a quota", creation(load)));
  return load();
}

// What was set, and bytes with a unit as well.
function limit({ quota, limit }) {
  if (BYTES.has(quota)) return `${count(limit)} B/s${limit >= 1024 ? ` (${bytes(limit)}/s)` : ""}`;
  return quota === "request_percentage" ? `${limit} %` : `${limit}/s`;
}

// An empty name is any, as on the command line, and `default` is the default.
function named(input) {
  const name = input.value.trim();
  return name === "" ? null : name === "default" ? "" : name;
}

function creation(load) {
  const user = line("quota-user", { placeholder: "any" });
  const clientId = line("quota-client-id", { placeholder: "any" });
  const ip = line("quota-ip", { placeholder: "alone" });
  const quota = choice("quota-name", QUOTAS);
  const value = line("quota-limit", { required: true, inputmode: "decimal", placeholder: "1048576" });
  return planForm({
    id: "quota-set", title: "New quota", path: "/api/change/quotas/set",
    lead: "For a user, a client id, both, or an address; default stands for all that have no quota of their own. Byte rates are in bytes per second and broker.",
    controls: [field("For user", user), field("For client id", clientId), field("For address", ip), field("Quota", quota), field("Limit", value)],
    wanted: () => ({ user: named(user), client_id: named(clientId), ip: named(ip), quota: quota.value, limit: value.value.trim() }),
    apply: "Set the quota",
    done: () => { load(); return "Set the quota."; },
  });
}

function removal({ entity, user, client_id, ip, quota }, load) {
  return planForm({
    id: "quota-remove", title: "Remove a quota", path: "/api/change/quotas/remove",
    wanted: () => ({ user, client_id, ip, quota }),
    apply: "Remove the quota",
    done: () => { load(); return `Removed ${quota} of ${entity}.`; },
  });
}
