//! The schema registry's other routes: all schemas, texts alone, formats, GUIDs, metadata, settings and modes.

use ottla_mock::schema_registry::{MockRegistry, MockRegistryConfig};
use serde_json::{Value, json};

use crate::support::registry::{get, get_text, refusal, send};

async fn registry() -> MockRegistry {
    MockRegistry::start(MockRegistryConfig::default()).await.unwrap()
}

/// Registers a schema, and returns the response.
async fn register(registry: &MockRegistry, subject: &str, body: Value) -> Value {
    let (status, found) = send(registry, "POST", &format!("/subjects/{subject}/versions"), body).await;
    assert_eq!(status, 200, "{found}");
    found
}

fn avro(text: &Value) -> Value {
    json!({"schema": text.to_string()})
}

fn protobuf(text: &str) -> Value {
    json!({"schema": text, "schemaType": "PROTOBUF"})
}

#[tokio::test]
async fn all_schemas_are_listed() {
    let registry = registry().await;
    for (subject, ty) in [("a", "int"), ("a", "long"), ("b", "string"), (":.c:a", "int")] {
        register(&registry, subject, avro(&json!(ty))).await;
    }
    send(&registry, "DELETE", "/subjects/b", Value::Null).await;
    let ruled = json!({"schema": "\"bytes\"", "ruleSet": {"domainRules": [{"name": "r", "type": "CEL"}]}});
    register(&registry, "d", ruled).await;
    let cases: [(&str, &[(&str, i64)]); 6] = [
        ("", &[(":.c:a", 1), ("a", 1), ("a", 2), ("d", 1)]),
        ("?latestOnly=true", &[(":.c:a", 1), ("a", 2), ("d", 1)]),
        ("?deleted=true&subjectPrefix=b", &[("b", 1)]),
        ("?subjectPrefix=:*:a&latestOnly=true", &[(":.c:a", 1), ("a", 2)]),
        ("?offset=1&limit=1", &[("a", 1)]),
        ("?ruleType=CEL", &[("d", 1)]),
    ];
    for (query, expected) in cases {
        let found = get(&registry, &format!("/schemas{query}")).await;
        let found: Vec<(&str, i64)> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["subject"].as_str().unwrap(), it["version"].as_i64().unwrap()))
            .collect();
        assert_eq!(found, expected, "{query}");
    }
    assert_eq!(get(&registry, "/contexts").await, json!([".", ".c"]));
    assert_eq!(get(&registry, "/contexts?contextPrefix=.c").await, json!([".c"]));
    assert_eq!(get(&registry, "/contexts?limit=1").await, json!(["."]));
}

#[tokio::test]
async fn schemas_have_their_text_alone_and_in_other_formats() {
    let registry = registry().await;
    let item = json!({"type": "record", "name": "p.Item", "fields": [{"name": "n", "type": "int"}]});
    register(&registry, "item", avro(&item)).await;
    let list = json!({"type": "record", "name": "List", "namespace": "p", "fields": [
        {"name": "first", "type": "Item"}, {"name": "others", "type": {"type": "array", "items": "p.Item"}}]});
    let referring = json!({"schema": list.to_string(),
        "references": [{"name": "p.Item", "subject": "item", "version": 1}]});
    let id = register(&registry, "list", referring).await["id"].clone();
    for path in [format!("/schemas/ids/{id}/schema"), "/subjects/list/versions/latest/schema".to_owned()] {
        assert_eq!(get_text(&registry, &path).await, list.to_string());
        let resolved: Value =
            serde_json::from_str(&get_text(&registry, &format!("{path}?format=resolved")).await).unwrap();
        assert_eq!(resolved["fields"][0]["type"], item);
        assert_eq!(resolved["fields"][1]["type"]["items"], "p.Item");
    }
    let text = "syntax = \"proto3\"; message M { int32 a = 1; }";
    let id = register(&registry, "m", protobuf(text)).await["id"].clone();
    let plain = get(&registry, &format!("/schemas/ids/{id}")).await;
    assert_eq!(plain["schema"], text);
    let serialized = get(&registry, &format!("/schemas/ids/{id}?format=serialized")).await;
    assert_ne!(serialized["schema"], text);
    // The descriptor is the same schema.
    let again = json!({"schema": serialized["schema"], "schemaType": "PROTOBUF"});
    register(&registry, "again", again).await;
    let (_, same) = send(&registry, "POST", "/compatibility/subjects/again/versions", protobuf(text)).await;
    assert_eq!(same["is_compatible"], true);
    assert_eq!(get(&registry, &format!("/schemas/ids/{id}?fetchMaxId=true")).await["maxId"], 4);
    let guid = plain["guid"].as_str().unwrap();
    let ids = get(&registry, &format!("/schemas/guids/{guid}/ids")).await;
    assert_eq!(ids, json!([{"context": ".", "id": id}]));
    assert_eq!(refusal(&registry, "GET", "/schemas/guids/none/ids", Value::Null).await, (404, 40403));
    assert_eq!(refusal(&registry, "GET", "/schemas/ids/99/schema", Value::Null).await, (404, 40403));
}

#[tokio::test]
async fn a_version_is_found_by_its_metadata() {
    let registry = registry().await;
    for (ty, owner) in [("int", "a"), ("long", "b"), ("double", "a")] {
        let metadata = json!({"properties": {"owner": owner}});
        register(&registry, "s", json!({"schema": format!("\"{ty}\""), "metadata": metadata})).await;
    }
    assert_eq!(get(&registry, "/subjects/s/metadata?key=owner&value=b").await["version"], 2);
    assert_eq!(get(&registry, "/subjects/s/metadata?key=owner&value=a").await["version"], 3);
    let missing = "/subjects/s/metadata?key=owner&value=c";
    assert_eq!(refusal(&registry, "GET", missing, Value::Null).await, (404, 40403));
    assert_eq!(refusal(&registry, "GET", "/subjects/t/metadata", Value::Null).await, (404, 40401));
}

#[tokio::test]
async fn settings_are_stored_and_inherited() {
    let registry = registry().await;
    let alias = json!({"alias": "orders", "normalize": true});
    assert_eq!(send(&registry, "PUT", "/config/old", alias.clone()).await, (200, alias.clone()));
    assert_eq!(get(&registry, "/config/old").await, alias);
    send(&registry, "PUT", "/config", json!({"compatibility": "FULL", "validateFields": true})).await;
    let found = get(&registry, "/config/old?defaultToGlobal=true").await;
    let whole =
        json!({"alias": "orders", "normalize": true, "compatibilityLevel": "FULL", "validateFields": true});
    assert_eq!(found, whole);
    send(&registry, "PUT", "/config/old", json!({"normalize": null})).await;
    assert_eq!(get(&registry, "/config/old").await, json!({"alias": "orders"}));
    let wrong = json!({"compatibilityPolicy": "SOME", "alias": "other"});
    assert_eq!(refusal(&registry, "PUT", "/config/old", wrong).await, (422, 42203));
    assert_eq!(get(&registry, "/config/old").await, json!({"alias": "orders"}));
    // An alias reads and registers, but what is deleted is named.
    register(&registry, "old", avro(&json!("int"))).await;
    assert_eq!(get(&registry, "/subjects").await, json!(["orders"]));
    assert_eq!(get(&registry, "/subjects/old/versions/1").await["subject"], "orders");
    let (_, checked) =
        send(&registry, "POST", "/compatibility/subjects/old/versions", avro(&json!("string"))).await;
    assert_eq!(checked["is_compatible"], false);
    assert_eq!(refusal(&registry, "DELETE", "/subjects/old", Value::Null).await, (404, 40401));
}

#[tokio::test]
async fn settings_decide_what_is_compared() {
    let registry = registry().await;
    let major = |ty: &str, major: &str| json!({"schema": format!("\"{ty}\""), "metadata": {"properties": {"major": major}}});
    send(&registry, "PUT", "/config/s", json!({"compatibilityGroup": "major"})).await;
    register(&registry, "s", major("int", "1")).await;
    register(&registry, "s", major("string", "2")).await;
    register(&registry, "s", major("long", "1")).await;
    let path = "/subjects/s/versions";
    assert_eq!(refusal(&registry, "POST", path, major("int", "2")).await, (409, 409));
    let object = |properties: Value| {
        let schema = json!({"type": "object", "properties": properties});
        json!({"schema": schema.to_string(), "schemaType": "JSON"})
    };
    register(&registry, "j", object(json!({}))).await;
    let wider = object(json!({"a": {"type": "string"}}));
    assert_eq!(refusal(&registry, "POST", "/subjects/j/versions", wider.clone()).await, (409, 409));
    send(&registry, "PUT", "/config/j", json!({"compatibilityPolicy": "lenient"})).await;
    register(&registry, "j", wider).await;
    assert_eq!(get(&registry, "/subjects/j/versions").await, json!([1, 2]));
    send(&registry, "PUT", "/config/n", json!({"normalize": true})).await;
    let record = |name: Value| {
        let mut record = json!({"type": "record", "fields": []});
        record.as_object_mut().unwrap().extend(name.as_object().unwrap().clone());
        avro(&record)
    };
    register(&registry, "n", record(json!({"name": "a.R"}))).await;
    register(&registry, "n", record(json!({"name": "R", "namespace": "a"}))).await;
    assert_eq!(get(&registry, "/subjects/n/versions").await, json!([1]));
}

#[tokio::test]
async fn json_schemas_and_protobuf_are_compared_in_the_directions_of_the_level() {
    let registry = registry().await;
    let integer = json!({"schema": r#"{"type": "integer"}"#, "schemaType": "JSON"});
    let number = json!({"schema": r#"{"type": "number"}"#, "schemaType": "JSON"});
    let one = protobuf("syntax = \"proto3\"; message M { int32 a = 1; }");
    let two = protobuf("syntax = \"proto3\"; message M { int32 a = 1; } message N {}");
    for (subject, old, new, kind) in
        [("j", integer, number, "TYPE_NARROWED"), ("p", one, two, "MESSAGE_REMOVED")]
    {
        register(&registry, subject, old).await;
        let path = format!("/compatibility/subjects/{subject}/versions/latest?verbose=true");
        for (level, is_compatible) in
            [("BACKWARD", true), ("FORWARD", false), ("FULL", false), ("NONE", true)]
        {
            send(&registry, "PUT", "/config", json!({"compatibility": level})).await;
            let (status, found) = send(&registry, "POST", &path, new.clone()).await;
            assert_eq!((status, &found["is_compatible"]), (200, &json!(is_compatible)), "{level}: {found}");
            let messages = found["messages"].as_array().unwrap();
            assert_eq!(messages.is_empty(), is_compatible);
            if !is_compatible {
                let first = messages[0].as_str().unwrap();
                assert!(first.starts_with(&format!("{{errorType:\"{kind}\"")), "{first}");
                assert_eq!(messages[1], "{oldSchemaVersion: 1}");
                assert_eq!(messages[3], format!("{{compatibility: '{level}'}}"));
                let versions = format!("/subjects/{subject}/versions");
                assert_eq!(refusal(&registry, "POST", &versions, new.clone()).await, (409, 409));
            }
        }
    }
}

#[tokio::test]
async fn invalid_protobuf_is_refused_and_editions_are_accepted() {
    let registry = registry().await;
    for text in [
        "message M { int32 a = 1; int32 b = 1; }",
        "syntax = \"proto3\"; message M { Other o = 1; }",
        "message",
    ] {
        let path = "/subjects/s/versions";
        assert_eq!(refusal(&registry, "POST", path, protobuf(text)).await, (422, 42201), "{text}");
    }
    register(&registry, "s", protobuf("edition = \"2023\"; message M { int32 a = 1; }")).await;
    register(&registry, "s", protobuf("edition = \"2023\"; message M { string a = 1; }")).await;
}

#[tokio::test]
async fn modes_are_reset_for_all_and_below_a_context() {
    let registry = registry().await;
    let read_only = json!({"mode": "READONLY"});
    for path in ["/mode", "/mode/s", "/mode/:.c:s"] {
        assert_eq!(send(&registry, "PUT", path, read_only.clone()).await.0, 200);
    }
    assert_eq!(
        send(&registry, "DELETE", "/mode?recursive=true", Value::Null).await,
        (200, read_only.clone())
    );
    assert_eq!(get(&registry, "/mode").await["mode"], "READWRITE");
    assert_eq!(refusal(&registry, "GET", "/mode/s", Value::Null).await, (404, 40409));
    assert_eq!(get(&registry, "/mode/:.c:s").await, read_only);
    let below = "/mode/:.c:?recursive=true";
    assert_eq!(send(&registry, "DELETE", below, Value::Null).await, (200, json!({"mode": null})));
    assert_eq!(refusal(&registry, "GET", "/mode/:.c:s", Value::Null).await, (404, 40409));
    assert_eq!(refusal(&registry, "DELETE", "/mode/s", Value::Null).await, (404, 40401));
}

#[tokio::test]
async fn routes_have_their_methods_only() {
    let registry = registry().await;
    for (method, path) in [
        ("DELETE", "/subjects"),
        ("PUT", "/subjects/s"),
        ("DELETE", "/subjects/s/versions"),
        ("POST", "/config"),
        ("GET", "/compatibility/subjects/s/versions"),
        ("POST", "/contexts"),
        ("POST", "/schemas/types"),
    ] {
        assert_eq!(refusal(&registry, method, path, Value::Null).await, (405, 405), "{method} {path}");
    }
    assert_eq!(refusal(&registry, "GET", "/nothing", Value::Null).await, (404, 404));
    assert!(get(&registry, "/v1/metadata/version").await["version"].is_string());
    assert!(get(&registry, "/v1/metadata/id").await["scope"].is_object());
}
