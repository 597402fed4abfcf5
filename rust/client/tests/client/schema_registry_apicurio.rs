//! Proves: the ids that Apicurio's serializers write are looked up as ids of the configured kind, with references,
//! once; without that kind, nothing is looked up; unknown ids are errors that say what to check.

use std::sync::Arc;

use ottla_client::Kind;
use ottla_client::schema_registry::{RegistryLookup, SchemaRegistry};
use ottla_client::typed::{FoundSchema, SchemaLookup};
use ottla_mock::schema_registry::{MockRegistry, RegistryFault, RegistryReaction, RegistryReference};
use ottla_schema::{SchemaId, WireFormat};

use crate::support::registry::*;
use crate::support::*;

const GLOBAL: (&str, &str) = ("schema.registry.apicurio.use.id", "globalId");
const CONTENT: (&str, &str) = ("schema.registry.apicurio.use.id", "contentId");
const SEARCH: &str = "/search/versions?globalId=";

/// A registry in which content 2 has the global ids 2 and 4, and content 3 the global id 3.
async fn apicurio() -> MockRegistry {
    let mock = registry_with(None, "/apis/ccompat/v7").await;
    let item = RegistryReference { name: "Item".to_owned(), subject: "item".to_owned(), version: 1 };
    mock.register("item", "AVRO", r#"{"type":"enum","name":"Item","symbols":["A"]}"#, &[]).unwrap();
    let order = r#"{"type":"record","name":"R","fields":[{"name":"i","type":"Item"}]}"#;
    mock.register("a", "AVRO", order, std::slice::from_ref(&item)).unwrap();
    mock.register("b", "AVRO", "\"long\"", &[]).unwrap();
    let again = mock.register("c", "AVRO", order, &[item]).unwrap();
    assert_eq!((again.id, again.global_id), (2, 4));
    mock
}

async fn text(client: &SchemaRegistry, id: u64) -> String {
    client.entry(SchemaId::Id64(id), None, CALL_TIMEOUT).await.unwrap().schema.text.to_string()
}

#[tokio::test(start_paused = true)]
async fn global_ids_and_ids_of_contents_are_looked_up_once() {
    let mock = apicurio().await;
    let client = registry_client(&mock, &[GLOBAL]);
    for _ in 0..3 {
        let order = client.entry(SchemaId::Id64(4), None, CALL_TIMEOUT).await.unwrap();
        assert_eq!(order.references, [reference("Item", "item", 1)]);
        assert!(order.schema.references[0].schema.text.contains("enum"));
        assert_eq!(text(&client, 3).await, "\"long\"");
    }
    assert_eq!(mock.request_count(Some("GET"), SEARCH), 2);
    assert_eq!(mock.request_count(None, ""), 5, "two look-ups of two calls, and one reference");
    assert!(
        client.cached(SchemaId::Id64(4), None).is_some() && client.cached(SchemaId::Id(4), None).is_none()
    );

    let client = registry_client(&mock, &[CONTENT]);
    assert!(text(&client, 2).await.contains("record"));
    assert_eq!(mock.request_count(Some("GET"), SEARCH), 2);
}

#[tokio::test(start_paused = true)]
async fn without_their_kind_ids_are_not_looked_up() {
    let mock = apicurio().await;
    let client = registry_client(&mock, &[]);
    let (kind, message) = shown(client.entry(SchemaId::Id64(2), None, CALL_TIMEOUT).await);
    assert_eq!(kind, Kind::Config);
    assert!(message.contains("schema.registry.apicurio.use.id must be set"), "{message}");
    let lookup = RegistryLookup::new(Arc::new(client));
    assert_eq!(lookup.check_wire_format(WireFormat::Apicurio).unwrap_err().kind(), Kind::Config);
    lookup.check_wire_format(WireFormat::Confluent).unwrap();
    assert_eq!(mock.requests(), []);
    RegistryLookup::new(Arc::new(registry_client(&mock, &[GLOBAL])))
        .check_wire_format(WireFormat::Apicurio)
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn unknown_ids_and_other_registries_are_clear_errors() {
    let mock = apicurio().await;
    let url = mock.url();
    for (kind, reason) in [(GLOBAL, "has no version with this global id"), (CONTENT, "it does not exist in")]
    {
        let client = registry_client(&mock, &[kind]);
        let missing = client.entry(SchemaId::Id64(9), None, CALL_TIMEOUT).await.unwrap_err();
        assert_eq!((missing.kind(), missing.context().registry_code), (Kind::Schema, Some(40403)));
        let message = missing.to_string();
        assert!(message.starts_with("looking up schema 9: ") && message.contains(reason), "{message}");
        assert!(message.contains(&url) && message.contains("apicurio.use.id"), "{message}");
        // Of a record: that one cannot be read; the call may go on.
        let lookup = RegistryLookup::new(Arc::new(client));
        let FoundSchema::Missing(found) = lookup.schema(SchemaId::Id64(9), None).await.unwrap() else {
            panic!("there is no schema 9")
        };
        assert!(found.contains(reason) && !found.contains("looking up"), "{found}");
    }
    let confluent = registry().await;
    let client = registry_client(&confluent, &[GLOBAL]);
    let (kind, message) = shown(client.entry(SchemaId::Id64(2), None, CALL_TIMEOUT).await);
    assert_eq!(kind, Kind::Config);
    assert!(message.contains("is not an address of Apicurio"), "{message}");
    let body = |body: &str| RegistryReaction::Body {
        content_type: "application/json".into(),
        body: body.to_owned().into(),
    };
    for malformed in ["{}", r#"{"versions":[{}]}"#, r#"{"versions":[{"contentId":-1}]}"#] {
        let client = registry_client(&mock, &[GLOBAL]);
        mock.inject(RegistryFault::once(body(malformed)));
        let (kind, message) = shown(client.entry(SchemaId::Id64(2), None, CALL_TIMEOUT).await);
        assert_eq!(kind, Kind::Schema);
        assert!(message.contains("a document that cannot be used"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_without_the_search_says_which_version_has_it() {
    let mock = apicurio().await;
    let client = registry_client(&mock, &[GLOBAL]);
    let status = RegistryReaction::Status {
        status: 404,
        code: Some(404),
        message: "HTTP 404".into(),
        retry_after: None,
    };
    mock.inject(RegistryFault::once(status).path("/search"));
    let (kind, message) = shown(client.entry(SchemaId::Id64(2), None, CALL_TIMEOUT).await);
    assert_eq!(kind, Kind::Schema);
    assert!(message.contains("they need Apicurio Registry 3"), "{message}");
    tokio::time::sleep(ms(2_000)).await;
    assert!(text(&client, 2).await.contains("record"));
}
