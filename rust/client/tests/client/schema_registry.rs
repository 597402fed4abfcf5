//! Proves: the registry client makes each call of Confluent's API; ids are looked up once, by however many
//! callers, and never expire; the latest schema expires; references are resolved; connections are reused.

use std::sync::Arc;

use crate::support::registry::*;
use crate::support::*;
use ottla_client::Kind;
use ottla_client::schema_registry::{DataContract, NewSchema, SubjectFilter};
use ottla_mock::schema_registry::{RegistryAuth, RegistryReference};
use ottla_schema::{SchemaId, SchemaType};

const OTHER: &str = r#"{"type":"record","name":"Order","fields":[]}"#;

#[tokio::test(start_paused = true)]
async fn a_schema_is_registered_and_found_in_each_way() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    let subject = "orders/value ä";
    let entry = client.register(subject, &avro(AVRO), false, CALL_TIMEOUT).await.unwrap();
    assert_eq!((entry.subject.as_deref(), entry.version, entry.id), (Some(subject), Some(1), Some(1)));
    assert_eq!((entry.schema.schema_type, &*entry.schema.text), (SchemaType::Avro, AVRO));

    let by_id = client.entry(SchemaId::Id(1), None, CALL_TIMEOUT).await.unwrap();
    assert_eq!(&*by_id.schema.text, AVRO);
    let latest = client.latest(subject, CALL_TIMEOUT).await.unwrap();
    assert_eq!((latest.version, latest.id), (Some(1), Some(1)));
    let guid = SchemaId::Guid(latest.schema.guid.expect("a GUID"));
    assert_eq!(client.entry(guid, None, CALL_TIMEOUT).await.unwrap().schema, by_id.schema);
    assert_eq!(client.version(subject, 1, false, CALL_TIMEOUT).await.unwrap(), latest);
    assert_eq!(client.lookup(subject, &avro(AVRO), false, CALL_TIMEOUT).await.unwrap(), latest);
    assert_eq!(client.subjects(&SubjectFilter::default(), CALL_TIMEOUT).await.unwrap(), [subject]);
    assert_eq!(client.cached(SchemaId::Id(1), None), Some(Arc::clone(&by_id.schema)));
    assert_eq!(client.cached(SchemaId::Id(2), None), None);
    assert_eq!(mock.connection_count(), 1, "one connection serves all calls");
}

#[tokio::test(start_paused = true)]
async fn compatibility_is_checked_without_registering() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    mock.register("s", "AVRO", AVRO, &[]).unwrap();
    mock.refuse_changes("s", true);
    let checked = client.check_compatibility("s", &avro(OTHER), None, CALL_TIMEOUT).await.unwrap();
    assert!(!checked.is_compatible && checked.messages[0].contains("differs from version 1"), "{checked:?}");
    let checked = client.check_compatibility("s", &avro(AVRO), Some(1), CALL_TIMEOUT).await.unwrap();
    assert!(checked.is_compatible && checked.messages.is_empty(), "{checked:?}");
    assert_eq!(mock.request_count(Some("POST"), "/subjects"), 0);
}

#[tokio::test(start_paused = true)]
async fn ids_are_looked_up_once_and_the_latest_schema_expires() {
    let mock = registry().await;
    mock.register("s", "AVRO", AVRO, &[]).unwrap();
    let client = Arc::new(registry_client(&mock, &[("schema.registry.latest.cache.ttl.ms", "60000")]));
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let client = Arc::clone(&client);
        calls.spawn(async move { client.entry(SchemaId::Id(1), None, CALL_TIMEOUT).await.unwrap() });
    }
    while let Some(found) = calls.join_next().await {
        assert_eq!(&*found.unwrap().schema.text, AVRO);
    }
    assert_eq!(mock.request_count(None, "/schemas/ids/1"), 1);
    assert_eq!(client.latest("s", CALL_TIMEOUT).await.unwrap().version, Some(1));
    mock.register("s", "AVRO", OTHER, &[]).unwrap();
    tokio::time::sleep(ms(59_000)).await;
    assert_eq!(client.latest("s", CALL_TIMEOUT).await.unwrap().version, Some(1));
    tokio::time::sleep(ms(1_000)).await;
    assert_eq!(client.latest("s", CALL_TIMEOUT).await.unwrap().version, Some(2));
    tokio::time::sleep(ms(1_000_000)).await;
    client.entry(SchemaId::Id(1), None, CALL_TIMEOUT).await.unwrap();
    assert_eq!(mock.request_count(None, "/schemas/ids/1"), 1, "an id never expires");
}

#[tokio::test(start_paused = true)]
async fn the_cache_is_bounded() {
    let mock = registry().await;
    for number in 0..5 {
        mock.register("s", "AVRO", &format!(r#"{{"type":"fixed","name":"f","size":{number}}}"#), &[])
            .unwrap();
    }
    let client = registry_client(&mock, &[("schema.registry.cache.capacity", "3")]);
    for id in 1..=5 {
        client.entry(SchemaId::Id(id), None, CALL_TIMEOUT).await.unwrap();
    }
    let cached: Vec<u32> = (1..=5).filter(|id| client.cached(SchemaId::Id(*id), None).is_some()).collect();
    assert_eq!(cached, [3, 4, 5]);
}

fn stored(name: &str, subject: &str) -> RegistryReference {
    RegistryReference { name: name.to_owned(), subject: subject.to_owned(), version: 1 }
}

#[tokio::test(start_paused = true)]
async fn references_are_resolved_and_looked_up_once() {
    let mock = registry().await;
    let message = |name: &str| format!("syntax = \"proto3\"; message {name} {{}}");
    mock.register("base", "PROTOBUF", &message("Base"), &[]).unwrap();
    mock.register("left", "PROTOBUF", &message("Left"), &[stored("base.proto", "base")]).unwrap();
    mock.register("right", "PROTOBUF", &message("Right"), &[stored("base.proto", "base")]).unwrap();
    let both = [stored("left.proto", "left"), stored("right.proto", "right")];
    let top = mock.register("top", "PROTOBUF", &message("Top"), &both).unwrap();
    // A version that was deleted softly is still referred to.
    mock.delete_version("base", 1).unwrap();
    let client = registry_client(&mock, &[]);
    let id = SchemaId::Id(u32::try_from(top.id).unwrap());
    let found = client.entry(id, None, CALL_TIMEOUT).await.unwrap();
    assert_eq!(found.references, [reference("left.proto", "left", 1), reference("right.proto", "right", 1)]);
    let [left, right] = found.schema.references.as_slice() else { panic!("{found:?}") };
    assert_eq!((&*left.name, &*right.name), ("left.proto", "right.proto"));
    assert_eq!(&*left.schema.references[0].schema.text, message("Base"));
    assert!(Arc::ptr_eq(&left.schema.references[0].schema, &right.schema.references[0].schema));
    assert_eq!(mock.request_count(None, "/subjects/base/"), 1);
    // Registered with references, and found by them.
    let schema = NewSchema {
        schema_type: SchemaType::Protobuf,
        text: shared(&message("Top")),
        references: found.references.clone(),
        contract: DataContract::default(),
    };
    let again = client.register("top", &schema, false, CALL_TIMEOUT).await.unwrap();
    assert_eq!((again.version, again.id), (Some(1), found.id.or(again.id)));
    assert_eq!(again.schema, found.schema);
}

#[tokio::test(start_paused = true)]
async fn a_path_and_credentials_are_part_of_each_request() {
    let (user, password) = ("key".to_owned(), "hunter2".to_owned());
    let basic = RegistryAuth::Basic(user, password);
    let mock = registry_with(Some(basic), "/apis/ccompat/v7").await;
    mock.register("s", "AVRO", AVRO, &[]).unwrap();
    let with_user = mock.url().replace("http://", "http://key:hunter2@");
    for (url, pairs) in [(mock.url(), &[("basic.auth.user.info", "key:hunter2")][..]), (with_user, &[])] {
        let client = try_registry_client(&url, pairs).unwrap();
        assert_eq!(client.urls(), [mock.url()]);
        client.latest("s", CALL_TIMEOUT).await.unwrap();
        assert!(!format!("{client:?}").contains("hunter2"), "{client:?}");
    }
    let mock = registry_with(Some(RegistryAuth::Bearer("hunter2".to_owned())), "").await;
    let client = registry_client(&mock, &[("bearer.auth.token", "hunter2")]);
    assert_eq!(client.subjects(&SubjectFilter::default(), CALL_TIMEOUT).await.unwrap(), Vec::<String>::new());
    let (kind, message) =
        shown(registry_client(&mock, &[]).subjects(&SubjectFilter::default(), CALL_TIMEOUT).await);
    assert_eq!(kind, Kind::Authentication);
    assert!(message.contains("requires credentials") && message.contains("bearer.auth.token"), "{message}");
}

#[tokio::test]
async fn tls_is_that_of_the_registrys_own_keys() {
    let authority = tls::Authority::new("registry authority");
    let mock = ottla_mock::schema_registry::MockRegistry::start(Default::default()).await.unwrap();
    mock.register("s", "AVRO", AVRO, &[]).unwrap();
    let plain = mock.url().trim_start_matches("http://").parse().unwrap();
    let terms = tls::Terms {
        clients: Some(authority.pem()),
        ..tls::Terms::new(authority.issue(&["127.0.0.1"], |_| ()))
    };
    let front = tls::terminate(terms, plain).await;
    let (url, authorities) = (format!("https://{front}"), authority.pem());
    let (chain, key) = authority.issue(&["client"], |_| ());
    let pairs = [
        ("schema.registry.ssl.truststore.certificates", authorities.as_str()),
        ("schema.registry.ssl.keystore.certificate.chain", &chain),
        ("schema.registry.ssl.keystore.key", &key),
    ];
    let client = try_registry_client(&url, &pairs).unwrap();
    within_deadline(client.latest("s", CALL_TIMEOUT)).await.expect("a secured registry");

    let without = try_registry_client(&url, &pairs[..1]).unwrap();
    let (kind, message) =
        shown(within_deadline(without.subjects(&SubjectFilter::default(), CALL_TIMEOUT)).await);
    assert_eq!(kind, Kind::Authentication, "{message}");
    assert!(message.contains("set schema.registry.ssl.keystore.location"), "{message}");
    let other = tls::Authority::new("another").pem();
    let wrong =
        try_registry_client(&url, &[("schema.registry.ssl.truststore.certificates", &other)]).unwrap();
    let (kind, message) =
        shown(within_deadline(wrong.subjects(&SubjectFilter::default(), CALL_TIMEOUT)).await);
    assert_eq!(kind, Kind::Authentication, "{message}");
    let key = "to schema.registry.ssl.truststore.location";
    assert!(message.contains("the schema registry's certificate") && message.contains(key), "{message}");
    let no_tls = try_registry_client(&mock.url().replace("http:", "https:"), &pairs).unwrap();
    let (_, message) = shown(within_deadline(no_tls.subjects(&SubjectFilter::default(), CALL_TIMEOUT)).await);
    assert!(message.contains("does not speak TLS on this port: use http"), "{message}");
}
