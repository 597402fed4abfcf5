//! Compares our message notation with the schemas inside Kafka's Java client, field by field.
//!
//! Anything that only one side has is a failure, and so is a new attribute of the schemas. The one exception are
//! tagged fields of our own, whose tags Kafka does not use.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::notation::{Field, Schema, Ty, Versions, snake};
use crate::support::{message_types, oracle};
use ottla_protocol::ApiKey;
use serde_json::Value as Json;

/// The first tag of our own. Kafka numbers its fields from 0.
const OWN_TAGS: u32 = 10_000;

const SCHEMA_ATTRIBUTES: [&str; 9] = [
    "apiKey",
    "type",
    "listeners",
    "name",
    "validVersions",
    "flexibleVersions",
    "latestVersionUnstable",
    "fields",
    "commonStructs",
];
/// `about` is a description, `entityType` and `zeroCopy` are hints for Java, and `mapKey` makes Java keep
/// an array as a map: none of these changes the bytes.
const FIELD_ATTRIBUTES: [&str; 14] = [
    "name",
    "type",
    "versions",
    "nullableVersions",
    "taggedVersions",
    "tag",
    "default",
    "ignorable",
    "fields",
    "flexibleVersions",
    "about",
    "entityType",
    "zeroCopy",
    "mapKey",
];

fn schemas() -> BTreeMap<String, Json> {
    serde_json::from_str(&oracle::read("schemas.json")).unwrap()
}

/// Compares one message and collects the differences.
struct Diff<'a> {
    ours: &'a Schema,
    theirs: &'a Json,
    reached: BTreeSet<String>,
    fields: usize,
    failures: Vec<String>,
}

impl Diff<'_> {
    fn message(&mut self) {
        let theirs = self.theirs;
        self.attributes(theirs, &SCHEMA_ATTRIBUTES, "schema");
        self.equal(
            "versions",
            self.ours.versions,
            Versions::parse(theirs["validVersions"].as_str().unwrap()),
        );
        self.equal(
            "flexible",
            self.ours.flexible,
            Versions::parse(theirs["flexibleVersions"].as_str().unwrap()),
        );
        self.structs(self.ours.name, self.ours.name, &theirs["fields"]);
        let all: BTreeSet<_> = self.ours.structs.keys().map(|name| (*name).to_owned()).collect();
        self.equal("structs", all, self.reached.clone());
    }

    fn structs(&mut self, name: &str, their_name: &str, fields: &Json) {
        // If a file has two structs with one name, we prefix one with its message's name.
        if !name.ends_with(their_name) {
            self.failures.push(format!("{}: struct {name} is {their_name} in Kafka", self.ours.name));
        }
        if !self.reached.insert(name.to_owned()) {
            return;
        }
        let Some(ours) = self.ours.structs.get(name) else {
            return self.failures.push(format!("{}: no struct {name}", self.ours.name));
        };
        let ours: Vec<_> = ours.iter().filter(|field| field.tag.is_none_or(|tag| tag < OWN_TAGS)).collect();
        let names: Vec<_> = ours.iter().map(|f| f.name.to_owned()).collect();
        let theirs = fields.as_array().unwrap();
        self.equal(name, names, theirs.iter().map(|f| snake(f["name"].as_str().unwrap())).collect());
        for (ours, theirs) in ours.iter().zip(theirs) {
            self.field(&format!("{name}.{}", ours.name), ours, theirs);
        }
    }

    fn field(&mut self, at: &str, ours: &Field, theirs: &Json) {
        self.fields += 1;
        self.attributes(theirs, &FIELD_ATTRIBUTES, at);
        let versions = |key: &str| Versions::parse(theirs[key].as_str().unwrap_or_default());
        self.equal(&format!("{at} versions"), ours.versions, versions("versions"));
        self.equal(&format!("{at} nullable"), ours.nullable, versions("nullableVersions"));
        self.equal(&format!("{at} Option"), ours.optional, theirs.get("nullableVersions").is_some());
        self.equal(&format!("{at} ignorable"), ours.ignorable, text(&theirs["ignorable"]) == "true");
        self.equal(&format!("{at} tag"), ours.tag.map(u64::from), theirs["tag"].as_u64());
        let tagged = if ours.tag.is_some() { ours.versions } else { Versions::NONE };
        self.equal(&format!("{at} tagged"), tagged, versions("taggedVersions"));
        self.equal(&format!("{at} flexible"), None, theirs.get("flexibleVersions"));
        self.equal(&format!("{at} default"), normal(&ours.default), their_default(ours, theirs));
        self.ty(at, &ours.ty, theirs["type"].as_str().unwrap(), theirs);
    }

    fn ty(&mut self, at: &str, ours: &Ty, theirs: &str, field: &Json) {
        let fixed = match theirs {
            "bool" => "bool",
            "int8" => "i8",
            "int16" => "i16",
            "uint16" => "u16",
            "int32" => "i32",
            "uint32" => "u32",
            "int64" => "i64",
            "float64" => "f64",
            "uuid" => "Uuid",
            _ => "",
        };
        match (ours, theirs.strip_prefix("[]")) {
            (Ty::Array(item), Some(their_item)) => self.ty(at, item, their_item, field),
            (Ty::Fixed(name), None) => self.equal(at, *name, fixed),
            (Ty::Str, None) => self.equal(at, "string", theirs),
            (Ty::Bytes, None) => self.equal(at, true, matches!(theirs, "bytes" | "records")),
            (Ty::Struct(name), None) => {
                let common = self.theirs["commonStructs"].as_array().into_iter().flatten();
                let fields = field
                    .get("fields")
                    .or_else(|| common.filter(|s| s["name"] == theirs).map(|s| &s["fields"]).next());
                match fields {
                    Some(fields) => self.structs(name, theirs, &fields.clone()),
                    None => self.failures.push(format!("{at}: {theirs} is not a struct in Kafka")),
                }
            }
            _ => self.failures.push(format!("{at}: {ours:?} is {theirs} in Kafka")),
        }
    }

    fn attributes(&mut self, theirs: &Json, known: &[&str], at: &str) {
        let new = theirs.as_object().unwrap().keys().filter(|key| !known.contains(&key.as_str()));
        self.failures.extend(new.map(|key| format!("{}, {at}: unknown attribute {key}", self.ours.name)));
    }

    fn equal<T: PartialEq + std::fmt::Debug>(&mut self, at: &str, ours: T, theirs: T) {
        if ours != theirs {
            self.failures.push(format!("{}: {at}: ours {ours:?}, Kafka's {theirs:?}", self.ours.name));
        }
    }
}

/// The text of a JSON value: the schemas write defaults either as JSON values or as strings.
fn text(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned).to_lowercase()
}

/// A default as text; empty if it is the type's own default.
fn normal(text: &str) -> String {
    let decimal = text.strip_prefix("0x").map(|hex| i64::from_str_radix(hex, 16).unwrap().to_string());
    let text = decimal.as_deref().unwrap_or(text);
    if ["", "0", "false"].contains(&text) { String::new() } else { text.to_owned() }
}

/// Kafka's default of a field. A nullable field defaults to `None` here even if Kafka's default is an
/// empty string or array. That never changes the bytes: a field that a version has is always written,
/// unless it is tagged, and `tagged_nullable_fields_default_to_null` excludes that.
fn their_default(ours: &Field, theirs: &Json) -> String {
    match theirs.get("default").map(text) {
        Some(text) if ours.optional && text == "null" => String::new(),
        Some(text) => normal(&text),
        None => String::new(),
    }
}

#[test]
fn messages_match_kafkas_schemas() {
    let mut theirs = schemas();
    let (mut fields, mut failures) = (0, Vec::new());
    let messages = message_types::messages();
    for message in &messages {
        let Some(theirs) = theirs.remove(message.name) else {
            failures.push(format!("{} is not in Kafka", message.name));
            continue;
        };
        let mut diff = Diff {
            ours: &message.schema,
            theirs: &theirs,
            reached: BTreeSet::new(),
            fields: 0,
            failures: Vec::new(),
        };
        diff.message();
        fields += diff.fields;
        failures.extend(diff.failures);
    }
    println!("{} messages, {fields} fields", messages.len());
    // The headers are written by hand; `oracle_vectors` compares them.
    theirs.retain(|name, _| !name.ends_with("Header"));
    failures.extend(theirs.keys().map(|name| format!("{name} is missing here")));
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn api_keys_and_versions_match_kafkas_schemas() {
    let theirs: Vec<_> = schemas().into_values().filter(|s| s["apiKey"].is_i64()).collect();
    let ours: BTreeMap<_, _> = ApiKey::ALL.iter().map(|api| (*api as i64, *api)).collect();
    let mut unstable = BTreeSet::new();
    let mut keys = BTreeSet::new();
    for schema in &theirs {
        let (name, key) = (schema["name"].as_str().unwrap(), schema["apiKey"].as_i64().unwrap());
        let api = ours.get(&key).unwrap_or_else(|| panic!("no API of key {key} ({name})"));
        let suffix = if schema["type"] == "request" { "Request" } else { "Response" };
        assert_eq!(name, format!("{}{suffix}", api.name()));
        let versions = Versions::parse(schema["validVersions"].as_str().unwrap());
        assert_eq!(api.versions(), (versions.lowest, versions.highest), "{name}");
        keys.insert(key);
        if text(&schema["latestVersionUnstable"]) == "true" {
            unstable.insert(api.name());
            assert!(api.client_max() < versions.highest, "{name}: the latest version is not stable");
        }
    }
    assert_eq!(keys, ours.keys().copied().collect(), "APIs that Kafka does not have");
    assert_eq!(theirs.len(), 2 * keys.len(), "a request and a response each");
    // `client_max` gives the reasons for the other limits.
    let held_back: BTreeSet<_> =
        ApiKey::ALL.iter().filter(|api| api.client_max() < api.versions().1).map(|api| api.name()).collect();
    let others: BTreeSet<_> = held_back.difference(&unstable).copied().collect();
    assert_eq!(others, BTreeSet::from(["AddPartitionsToTxn"]));
}

/// A tagged field with its default value is not written: if Kafka's default were an empty string where
/// ours is `None`, a null would arrive as an empty string.
#[test]
fn tagged_nullable_fields_default_to_null() {
    fn check(message: &str, fields: &Json, seen: &mut usize) {
        for field in fields.as_array().into_iter().flatten() {
            if field.get("tag").is_some() && field.get("nullableVersions").is_some() {
                *seen += 1;
                assert_eq!(text(&field["default"]), "null", "{message}.{}", field["name"]);
            }
            check(message, &field["fields"], seen);
        }
    }
    let mut seen = 0;
    for (name, schema) in &schemas() {
        check(name, &schema["fields"], &mut seen);
        for common in schema["commonStructs"].as_array().into_iter().flatten() {
            check(name, &common["fields"], &mut seen);
        }
    }
    assert!(seen > 0);
}
