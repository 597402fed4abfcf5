//! The schema registry over HTTP: levels of compatibility, invalid schemas, deletion in two steps, listings.

use ottla_mock::schema_registry::{CompatibilityLevel, MockRegistry, MockRegistryConfig, RegistryReference};
use serde_json::{Value, json};

use crate::support::registry::{get, refusal, send};

async fn registry() -> MockRegistry {
    MockRegistry::start(MockRegistryConfig::default()).await.unwrap()
}

fn schema(text: &Value) -> Value {
    json!({"schema": text.to_string()})
}

fn record(fields: &Value) -> Value {
    json!({"type": "record", "name": "R", "fields": fields})
}

/// Registers a schema, and returns the status.
async fn register(registry: &MockRegistry, subject: &str, text: &Value) -> u16 {
    send(registry, "POST", &format!("/subjects/{subject}/versions"), schema(text)).await.0
}

#[tokio::test]
async fn levels_are_set_read_and_reset() {
    let registry = registry().await;
    assert_eq!(get(&registry, "/config").await, json!({"compatibilityLevel": "BACKWARD"}));
    assert_eq!(refusal(&registry, "GET", "/config/s", Value::Null).await, (404, 40408));
    assert_eq!(get(&registry, "/config/s?defaultToGlobal=true").await["compatibilityLevel"], "BACKWARD");
    let full = json!({"compatibility": "full_transitive"});
    assert_eq!(send(&registry, "PUT", "/config/s", full.clone()).await, (200, full));
    assert_eq!(get(&registry, "/config/s").await["compatibilityLevel"], "FULL_TRANSITIVE");
    assert_eq!(get(&registry, "/config").await["compatibilityLevel"], "BACKWARD");
    for path in ["/config", "/config/s"] {
        let wrong = json!({"compatibility": "INVALID"});
        assert_eq!(refusal(&registry, "PUT", path, wrong).await, (422, 42203));
    }
    assert_eq!(send(&registry, "PUT", "/config", json!({"compatibility": "NONE"})).await.0, 200);
    assert_eq!(send(&registry, "DELETE", "/config/s", Value::Null).await.0, 200);
    assert_eq!(refusal(&registry, "DELETE", "/config/s", Value::Null).await, (404, 40401));
    assert_eq!(get(&registry, "/config/s?defaultToGlobal=true").await["compatibilityLevel"], "NONE");
}

#[tokio::test]
async fn a_level_decides_which_versions_are_compared_and_in_which_direction() {
    let id = json!({"name": "id", "type": "long"});
    let optional = |name: &str| json!({"name": name, "type": "int", "default": 0});
    let both = record(&json!([id, {"name": "n", "type": "int"}]));
    let only_id = record(&json!([id]));
    let defaulted = record(&json!([id, optional("n")]));
    // Version 1 has a field without a default, which version 2 lacks.
    for (level, compatible) in [
        (CompatibilityLevel::None, [true, true, true]),
        (CompatibilityLevel::Backward, [false, true, true]),
        (CompatibilityLevel::BackwardTransitive, [false, true, true]),
        (CompatibilityLevel::Forward, [true, true, true]),
        (CompatibilityLevel::ForwardTransitive, [true, true, false]),
        (CompatibilityLevel::Full, [false, true, true]),
        (CompatibilityLevel::FullTransitive, [false, true, false]),
    ] {
        let registry = registry().await;
        registry.set_compatibility(Some("s"), level);
        for text in [&both, &only_id] {
            registry.register("s", "AVRO", &text.to_string(), &[]).unwrap();
        }
        let renamed = record(&json!([id, optional("m")]));
        for (text, expected) in [both.clone(), defaulted.clone(), renamed].iter().zip(compatible) {
            let path = "/compatibility/subjects/s/versions?verbose=true";
            let (status, found) = send(&registry, "POST", path, schema(text)).await;
            assert_eq!(
                (status, found["is_compatible"].as_bool()),
                (200, Some(expected)),
                "{level:?}: {found}"
            );
            assert_eq!(found["messages"].as_array().unwrap().is_empty(), expected, "{found}");
        }
    }
}

#[tokio::test]
async fn incompatible_schemas_are_refused_unless_the_level_is_none() {
    let registry = registry().await;
    assert_eq!(register(&registry, "s", &json!("long")).await, 200);
    let path = "/subjects/s/versions";
    let (status, refused) = send(&registry, "POST", path, schema(&json!("string"))).await;
    assert_eq!((status, &refused["error_code"]), (409, &json!(409)));
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.starts_with("Schema being registered is incompatible with an earlier schema"),
        "{message}"
    );
    assert!(
        message.contains(r#"{errorType:"TYPE_MISMATCH", "#) && message.contains("{oldSchemaVersion: 1}"),
        "{message}"
    );
    assert_eq!(register(&registry, "s", &json!("long")).await, 200, "it is registered already");
    let other = json!({"schema": "{}", "schemaType": "JSON"});
    assert_eq!(refusal(&registry, "POST", path, other).await, (409, 409));
    assert_eq!(register(&registry, "s", &json!("double")).await, 200);
    registry.set_compatibility(None, CompatibilityLevel::None);
    assert_eq!(register(&registry, "s", &json!("string")).await, 200);
    assert_eq!(get(&registry, path).await, json!([1, 2, 3]));
}

#[tokio::test]
async fn invalid_schemas_are_refused() {
    let registry = registry().await;
    let field = |text: Value| record(&json!([text]));
    for text in [
        json!({"type": "record", "name": "R"}),
        json!({"type": "record", "fields": []}),
        json!({"type": "record", "name": "1R", "fields": []}),
        json!({"type": "record", "name": "int", "fields": []}),
        json!("Unknown"),
        json!(7),
        json!({"items": "int"}),
        json!({"type": "array"}),
        json!({"type": "map"}),
        json!(["int", "int"]),
        json!(["int", ["null"]]),
        json!({"type": "enum", "name": "E", "symbols": ["A", "A"]}),
        json!({"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}),
        json!({"type": "fixed", "name": "F", "size": -1}),
        field(json!({"name": "f", "type": "int", "default": "x"})),
        field(json!({"name": "f", "type": "Unknown"})),
        field(json!({"type": "int"})),
        record(&json!([{"name": "f", "type": "int"}, {"name": "f", "type": "int"}])),
        field(json!({"name": "f", "type": {"type": "record", "name": "R", "fields": []}})),
        // Its default would be endless.
        field(json!({"name": "f", "type": "R", "default": {}})),
    ] {
        let path = "/subjects/s/versions";
        assert_eq!(refusal(&registry, "POST", path, schema(&text)).await, (422, 42201), "{text}");
    }
    assert_eq!(register(&registry, "s", &json!("int")).await, 200);
    assert_eq!(refusal(&registry, "POST", "/subjects/s", schema(&json!("Unknown"))).await, (422, 42201));
    for (kind, text) in [
        ("JSON", r#"{"type": "text"}"#),
        ("JSON", r#"{"properties": {"a": 1}}"#),
        ("JSON", "{"),
        ("PROTOBUF", "int"),
        ("XML", "<a/>"),
    ] {
        let body = json!({"schema": text, "schemaType": kind});
        assert_eq!(refusal(&registry, "POST", "/subjects/t/versions", body).await, (422, 42201), "{text}");
    }
}

#[tokio::test]
async fn recursive_and_referring_schemas_are_valid_and_compared() {
    let registry = registry().await;
    let node = |kind: &str| {
        record(&json!([{"name": "value", "type": kind}, {"name": "next", "type": ["null", "R"]}]))
    };
    assert_eq!(register(&registry, "node", &node("int")).await, 200);
    assert_eq!(register(&registry, "node", &node("long")).await, 200);
    assert_eq!(register(&registry, "node", &node("string")).await, 409);
    let refers = |version: i32| {
        let list = json!({"type": "record", "name": "a.List", "fields": [{"name": "head", "type": "R"}]});
        let references = json!([{"name": "R", "subject": "node", "version": version}]);
        json!({"schema": list.to_string(), "references": references})
    };
    assert_eq!(send(&registry, "POST", "/subjects/list/versions", refers(2)).await.0, 200);
    // A list of ints cannot be read where longs were written.
    assert_eq!(refusal(&registry, "POST", "/subjects/list/versions", refers(1)).await, (409, 409));
    assert_eq!(refusal(&registry, "POST", "/subjects/list/versions", refers(9)).await, (422, 42201));
    assert_eq!(get(&registry, "/subjects/node/versions/2/referencedby").await, json!([3]));
}

#[tokio::test]
async fn a_version_is_deleted_softly_and_then_permanently() {
    let registry = registry().await;
    for text in ["int", "long"] {
        assert_eq!(register(&registry, "s", &json!(text)).await, 200);
    }
    let (one, gone) = ("/subjects/s/versions/1", "/subjects/s/versions/1?permanent=true");
    assert_eq!(refusal(&registry, "DELETE", gone, Value::Null).await, (404, 40407));
    assert_eq!(send(&registry, "DELETE", one, Value::Null).await, (200, json!(1)));
    assert_eq!(refusal(&registry, "DELETE", one, Value::Null).await, (404, 40406));
    assert_eq!(refusal(&registry, "GET", one, Value::Null).await, (404, 40402));
    assert_eq!(get(&registry, "/subjects/s/versions/1?deleted=true").await["id"], 1);
    assert_eq!(get(&registry, "/subjects/s/versions").await, json!([2]));
    assert_eq!(get(&registry, "/subjects/s/versions?deleted=true").await, json!([1, 2]));
    assert_eq!(get(&registry, "/subjects/s/versions?deletedOnly=true").await, json!([1]));
    assert_eq!(get(&registry, "/schemas/ids/1").await["schema"], "\"int\"");
    assert_eq!(get(&registry, "/schemas/ids/1/versions").await, json!([]));
    let place = json!([{"subject": "s", "version": 1}]);
    assert_eq!(get(&registry, "/schemas/ids/1/versions?deleted=true").await, place);
    assert_eq!(refusal(&registry, "POST", "/subjects/s", schema(&json!("int"))).await, (404, 40403));
    let found = send(&registry, "POST", "/subjects/s?deleted=true", schema(&json!("int"))).await;
    assert_eq!((found.0, &found.1["version"]), (200, &json!(1)));
    assert_eq!(send(&registry, "DELETE", gone, Value::Null).await, (200, json!(1)));
    assert_eq!(refusal(&registry, "DELETE", gone, Value::Null).await, (404, 40402));
    assert_eq!(refusal(&registry, "GET", "/schemas/ids/1", Value::Null).await, (404, 40403));
    assert_eq!(get(&registry, "/schemas/ids/2/subjects").await, json!(["s"]));
    // The schema has a new id, since it was forgotten.
    registry.set_compatibility(None, CompatibilityLevel::None);
    assert_eq!(register(&registry, "s", &json!("int")).await, 200);
    assert_eq!(get(&registry, "/subjects/s/versions/latest").await["id"], 3);
}

#[tokio::test]
async fn a_subject_is_deleted_softly_and_then_permanently() {
    let registry = registry().await;
    for subject in ["s", "t"] {
        assert_eq!(register(&registry, subject, &json!("int")).await, 200);
    }
    let (soft, gone) = ("/subjects/s", "/subjects/s?permanent=true");
    assert_eq!(refusal(&registry, "DELETE", gone, Value::Null).await, (404, 40405));
    assert_eq!(send(&registry, "DELETE", soft, Value::Null).await, (200, json!([1])));
    assert_eq!(refusal(&registry, "DELETE", soft, Value::Null).await, (404, 40404));
    assert_eq!(get(&registry, "/subjects").await, json!(["t"]));
    assert_eq!(get(&registry, "/subjects?deleted=true").await, json!(["s", "t"]));
    assert_eq!(get(&registry, "/subjects?deletedOnly=true").await, json!(["s"]));
    assert_eq!(get(&registry, "/subjects?deleted=true&offset=1&limit=1").await, json!(["t"]));
    assert_eq!(get(&registry, "/subjects?deleted=true&subjectPrefix=s").await, json!(["s"]));
    // A subject that was deleted softly counts its versions on.
    assert_eq!(register(&registry, "s", &json!("int")).await, 200);
    assert_eq!(get(&registry, "/subjects/s/versions").await, json!([2]));
    assert_eq!(send(&registry, "DELETE", soft, Value::Null).await, (200, json!([2])));
    assert_eq!(send(&registry, "DELETE", gone, Value::Null).await, (200, json!([1, 2])));
    assert_eq!(refusal(&registry, "DELETE", gone, Value::Null).await, (404, 40401));
    assert_eq!(get(&registry, "/subjects?deleted=true").await, json!(["t"]));
    assert_eq!(get(&registry, "/schemas/ids/1").await["schema"], "\"int\"", "the other subject has it");
}

#[tokio::test]
async fn what_others_refer_to_is_not_deleted() {
    let registry = registry().await;
    assert_eq!(register(&registry, "s", &record(&json!([]))).await, 200);
    let reference = RegistryReference { name: "R".to_owned(), subject: "s".to_owned(), version: 1 };
    registry.register("t", "AVRO", r#"{"type": "array", "items": "R"}"#, &[reference]).unwrap();
    for path in ["/subjects/s", "/subjects/s/versions/1"] {
        assert_eq!(refusal(&registry, "DELETE", path, Value::Null).await, (422, 42206));
    }
    assert_eq!(send(&registry, "DELETE", "/subjects/t", Value::Null).await.0, 200);
    assert_eq!(send(&registry, "DELETE", "/subjects/s", Value::Null).await.0, 200);
    let gone = "/subjects/s?permanent=true";
    assert_eq!(refusal(&registry, "DELETE", gone, Value::Null).await, (422, 42206));
    assert_eq!(send(&registry, "DELETE", "/subjects/t?permanent=true", Value::Null).await.0, 200);
    assert_eq!(send(&registry, "DELETE", gone, Value::Null).await.0, 200);
    assert_eq!(get(&registry, "/subjects?deleted=true").await, json!([]));
}
