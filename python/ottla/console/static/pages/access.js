// The Access page: access control lists, the users with SCRAM passwords, client quotas, and their changes.

import { about } from "../about.js";
import { choice, el, replace, table } from "../dom.js";
import { count, countedRows } from "../format.js";
import { changes, field, line, planForm } from "../plan_form.js";
import { openQuotas } from "../quotas.js";
import { get } from "../stream.js";

export const name = "access";
export const title = "Access";
export const lead = "Who may do what, and how much: access control entries, the users with SCRAM passwords, and client quotas.";

const RESOURCES = ["topic", "group", "cluster", "transactional_id", "delegation_token", "user"];
const MECHANISMS = ["SCRAM-SHA-512", "SCRAM-SHA-256"];

/** Shows the page. Returns a function that closes it. */
export function open(content) {
  const acls = el("div", { id: "acls" });
  const users = el("div", { id: "users" });
  const search = el("input", { type: "search", id: "acl-search", placeholder: "part of an entry", autocomplete: "off", spellcheck: "false" });
  const quotas = el("div", { id: "quotas" });
  const quotaEdit = el("div.all-changes");
  const edit = el("div.all-changes");
  const aclEdit = el("div.all-changes");
  const userEdit = el("div.all-changes");
  content.append(
    el("section", { "aria-labelledby": "acls-title" }, el("h3", { id: "acls-title" }, "Access control lists"),
      el("div.controls", {}, el("label", { for: "acl-search" }, "Find"), search), acls, aclEdit),
    el("section", { "aria-labelledby": "users-title" }, el("h3", { id: "users-title" }, "SCRAM passwords"), users, userEdit),
    el("section", { "aria-labelledby": "quotas-title" }, el("h3", { id: "quotas-title" }, "Client quotas"), quotas, quotaEdit), edit);
  let entries = { total: 0, rows: [] };
  let mayChange = false;
  const draw = () => {
    const wanted = search.value.trim().toLowerCase();
    const shown = entries.rows.filter((each) => !wanted || Object.values(each).join(" ").toLowerCase().includes(wanted));
    replace(acls, el("p.found", { role: "status" }, `${count(shown.length)} of ${entriesText(entries.total)}`),
      shown.length ? table("Access control entries", ["principal", "permission", "operation", "resource", "name", "host", ...(mayChange ? ["change"] : [])], shown.map(entry)) : null);
  };
  const entry = (acl) => [acl.principal, el(`td${acl.permission === "deny" ? ".bad" : ""}`, {}, acl.permission), acl.operation, acl.resource_type,
    acl.resource_name + (acl.pattern_type === "prefixed" ? "…" : ""), acl.host,
    ...(mayChange ? [el("button", { type: "button", "aria-label": `Delete ${sentence(acl)}`, onclick: () => confirmDeletion(aclDeletion(acl, load)) }, "Delete …")] : [])];
  const user = (each) => [each.user, each.mechanism, el("td.number", {}, count(each.iterations)),
    ...(mayChange ? [el("button", { type: "button", "aria-label": `Delete the ${each.mechanism} password of ${each.user}`, onclick: () => confirmDeletion(userDeletion(each, load)) }, "Delete …")] : [])];
  // The plan of a deletion that a row began.
  const confirmDeletion = (section) => {
    replace(edit, section);
    const plan = section.querySelector("button[type=submit]");
    plan.focus();
    plan.click();
    section.scrollIntoView({ block: "center" });
  };
  const load = async () => {
    await Promise.all([
      get("/api/acls").then((found) => { entries = found; draw(); }).catch((error) => replace(acls, unknown(error))),
      get("/api/users").then((found) => replace(users, el("p.found", { role: "status" }, countedRows(found, "password")),
        found.rows.length ? table("Users", ["user", "mechanism", "iterations", ...(mayChange ? ["change"] : [])], found.rows.map(user)) : null)).catch((error) => replace(users, unknown(error))),
    ]);
  };
  search.addEventListener("input", draw);
  about.then((found) => {
    mayChange = found.allow_changes;
    if (mayChange) {
      aclEdit.append(changes("Create an entry", aclCreation(load)));
      userEdit.append(changes("Set a password", userPassword(load)));
    }
    openQuotas(quotas, { edit: quotaEdit, mayChange, confirm: confirmDeletion, unknown });
    return load();
  }, (error) => replace(acls, unknown(error)));
  return () => {};
}

function unknown(error) {
  const remedy = error.details?.remedy;
  return el("p.notice", {}, `Unknown: ${error.message}${remedy && !error.message.includes(remedy) ? `. What to do: ${remedy}` : ""}`);
}

function entriesText(number) {
  return `${count(number)} ${number === 1 ? "entry" : "entries"}`;
}

function sentence(acl) {
  return `${acl.permission} ${acl.principal} to ${acl.operation} ${acl.resource_type} ${acl.resource_name}`;
}

function aclCreation(load) {
  const principal = line("acl-principal", { required: true, placeholder: "User:alice" });
  const permission = choice("acl-permission", ["allow", "deny"]);
  const operation = line("acl-operation", { required: true, placeholder: "read, describe" });
  const type = choice("acl-type", RESOURCES);
  const resource = line("acl-name", { placeholder: "orders, or * for any" });
  const pattern = choice("acl-pattern", ["literal", "prefixed"]);
  const host = line("acl-host", { placeholder: "any" });
  return planForm({
    id: "acl-create", title: "New entries", path: "/api/change/acls/create",
    lead: "One entry for each operation. The cluster itself has no name.",
    controls: [field("Principal", principal), field("Permission", permission), field("Operations", operation), field("Resource", type), field("Name", resource), field("Pattern", pattern), field("Host", host)],
    wanted: () => ({ principal: principal.value.trim(), permission: permission.value, operation: operation.value, resource_type: type.value, resource_name: resource.value.trim(), pattern_type: pattern.value, host: host.value.trim() }),
    apply: "Create the entries",
    done: ({ changes }) => { load(); return `Created ${entriesText(changes.length)}.`; },
  });
}

function aclDeletion(acl, load) {
  return planForm({
    id: "acl-delete", title: "Delete an entry", path: "/api/change/acls/delete",
    wanted: () => acl,
    apply: "Delete the entry",
    done: () => { load(); return "Deleted the entry."; },
  });
}

function userPassword(load) {
  const user = line("user-name", { required: true });
  const password = line("user-password", { type: "password", required: true, autocomplete: "new-password" });
  const mechanism = choice("user-mechanism", MECHANISMS);
  const iterations = line("user-iterations", { inputmode: "numeric", placeholder: "4096", size: 8 });
  return planForm({
    id: "user-set", title: "New password", path: "/api/change/users/password",
    lead: "The brokers get a salted hash of it.",
    controls: [field("User", user), field("Password", password), field("Mechanism", mechanism), field("Iterations", iterations)],
    wanted: () => ({ user: user.value.trim(), password: password.value, mechanism: mechanism.value, iterations: iterations.value.trim() }),
    apply: "Set the password",
    done: () => {
      password.value = "";
      load();
      return `Set the password of ${user.value.trim()}.`;
    },
  });
}

function userDeletion({ user, mechanism }, load) {
  return planForm({
    id: "user-delete", title: "Delete a password", path: "/api/change/users/delete", typed: user,
    wanted: () => ({ user, mechanism }),
    apply: "Delete the password",
    done: () => { load(); return `Deleted the ${mechanism} password of ${user}.`; },
  });
}
