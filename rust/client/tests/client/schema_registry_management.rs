//! Proves: the calls that administer a registry have Confluent's effects; what was refused is asked again after a
//! change; a deletion whose response was lost is done; errors say what the mode or a reference forbids.

use crate::support::registry::*;
use crate::support::*;
use ottla_client::Kind;
use ottla_client::schema_registry::{RegistrySetting, SubjectFilter};
use ottla_mock::schema_registry::{RegistryFault, RegistryMatch, RegistryReaction};

const OTHER: &str = r#"{"type":"record","name":"Other","fields":[]}"#;

fn own(value: &str) -> RegistrySetting {
    RegistrySetting { value: value.to_owned(), is_global: false }
}

fn global(value: &str) -> RegistrySetting {
    RegistrySetting { value: value.to_owned(), is_global: true }
}

#[tokio::test(start_paused = true)]
async fn a_registration_after_a_look_up_that_failed_has_its_version() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    assert!(client.lookup("s", &avro(AVRO), false, CALL_TIMEOUT).await.is_err());
    let entry = client.register("s", &avro(AVRO), false, CALL_TIMEOUT).await.unwrap();
    assert_eq!((entry.version, entry.id), (Some(1), Some(1)));
}

#[tokio::test(start_paused = true)]
async fn a_level_is_the_subjects_the_contexts_or_the_registrys() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    let subject = Some(":.shop:s");
    assert_eq!(client.compatibility_level(None, CALL_TIMEOUT).await.unwrap(), global("BACKWARD"));
    assert_eq!(client.compatibility_level(subject, CALL_TIMEOUT).await.unwrap(), global("BACKWARD"));
    client.set_compatibility_level("full", Some(":.shop:"), CALL_TIMEOUT).await.unwrap();
    assert_eq!(client.compatibility_level(subject, CALL_TIMEOUT).await.unwrap(), global("FULL"));
    client.set_compatibility_level("NONE", subject, CALL_TIMEOUT).await.unwrap();
    assert_eq!(client.compatibility_level(subject, CALL_TIMEOUT).await.unwrap(), own("NONE"));
    client.delete_compatibility_level(subject, CALL_TIMEOUT).await.unwrap();
    let error = client.delete_compatibility_level(subject, CALL_TIMEOUT).await.unwrap_err();
    assert_eq!(error.context().registry_code, Some(40401));
    let (kind, message) = shown(client.set_compatibility_level("SOME", None, CALL_TIMEOUT).await);
    assert!(kind == Kind::Config && message.contains("expected one of NONE, BACKWARD"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_forgotten_when_the_level_or_the_mode_changes() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    client.register("s", &avro(AVRO), false, CALL_TIMEOUT).await.unwrap();
    let (_, message) = shown(client.register("s", &avro("\"int\""), false, CALL_TIMEOUT).await);
    assert!(message.contains("incompatible with earlier versions"), "{message}");
    client.set_compatibility_level("NONE", None, CALL_TIMEOUT).await.unwrap();
    assert_eq!(client.register("s", &avro("\"int\""), false, CALL_TIMEOUT).await.unwrap().version, Some(2));

    client.set_mode("READONLY", Some("s"), false, CALL_TIMEOUT).await.unwrap();
    assert_eq!(client.mode(Some("s"), CALL_TIMEOUT).await.unwrap(), own("READONLY"));
    let (kind, message) = shown(client.register("s", &avro(OTHER), false, CALL_TIMEOUT).await);
    assert!(kind == Kind::Schema && message.contains("42205") && message.contains("set_mode()"), "{message}");
    client.delete_mode("s", CALL_TIMEOUT).await.unwrap();
    assert_eq!(client.mode(Some("s"), CALL_TIMEOUT).await.unwrap(), global("READWRITE"));
    assert_eq!(client.register("s", &avro(OTHER), false, CALL_TIMEOUT).await.unwrap().version, Some(3));
    let error = client.set_mode("IMPORT", None, false, CALL_TIMEOUT).await.unwrap_err();
    assert_eq!(error.context().registry_code, Some(42205));
    client.set_mode("IMPORT", None, true, CALL_TIMEOUT).await.unwrap();
    assert_eq!(client.mode(None, CALL_TIMEOUT).await.unwrap(), global("IMPORT"));
}

#[tokio::test(start_paused = true)]
async fn deletion_is_soft_or_for_good() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    client.set_compatibility_level("NONE", None, CALL_TIMEOUT).await.unwrap();
    for text in [AVRO, "\"int\"", "\"long\""] {
        client.register("s", &avro(text), false, CALL_TIMEOUT).await.unwrap();
    }
    client.version("s", 2, false, CALL_TIMEOUT).await.unwrap();
    client.delete_version("s", 2, false, CALL_TIMEOUT).await.unwrap();
    assert!(client.version("s", 2, false, CALL_TIMEOUT).await.is_err(), "it is not cached any longer");
    assert_eq!(client.version("s", 2, true, CALL_TIMEOUT).await.unwrap().version, Some(2));
    let (_, message) = shown(client.delete_version("s", 2, false, CALL_TIMEOUT).await);
    assert!(message.contains("40406") && message.contains("delete it permanently"), "{message}");
    assert_eq!(client.versions("s", false, CALL_TIMEOUT).await.unwrap(), [1, 3]);
    assert_eq!(client.versions("s", true, CALL_TIMEOUT).await.unwrap(), [1, 2, 3]);
    client.delete_version("s", 2, true, CALL_TIMEOUT).await.unwrap();
    assert_eq!(client.versions("s", true, CALL_TIMEOUT).await.unwrap(), [1, 3]);

    assert_eq!(client.delete_subject("s", false, CALL_TIMEOUT).await.unwrap(), [1, 3]);
    let all = SubjectFilter { with_deleted: true, ..SubjectFilter::default() };
    assert_eq!(client.subjects(&SubjectFilter::default(), CALL_TIMEOUT).await.unwrap(), Vec::<String>::new());
    assert_eq!(client.subjects(&all, CALL_TIMEOUT).await.unwrap(), ["s"]);
    assert_eq!(client.delete_subject("s", true, CALL_TIMEOUT).await.unwrap(), [1, 3]);
    assert_eq!(client.subjects(&all, CALL_TIMEOUT).await.unwrap(), Vec::<String>::new());
    let error = client.delete_subject("s", true, CALL_TIMEOUT).await.unwrap_err();
    assert_eq!(error.context().registry_code, Some(40401));
}

#[tokio::test(start_paused = true)]
async fn what_is_referred_to_is_not_deleted() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    client.register("other", &avro(OTHER), false, CALL_TIMEOUT).await.unwrap();
    let mut schema = avro(r#"{"type":"array","items":"Other"}"#);
    schema.references = vec![reference("Other", "other", 1)];
    client.register("s", &schema, false, CALL_TIMEOUT).await.unwrap();
    let (_, message) = shown(client.delete_subject("other", false, CALL_TIMEOUT).await);
    assert!(message.contains("42206") && message.contains("that refer to it first"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_whose_response_was_lost_is_done() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    let lose_response = |path: &str| RegistryFault {
        on: RegistryMatch { method: Some("DELETE".into()), path: Some(path.into()), skip: 0 },
        then: RegistryReaction::DisconnectAfterHandling,
        times: Some(1),
    };
    for subject in ["s", "t"] {
        client.register(subject, &avro(AVRO), false, CALL_TIMEOUT).await.unwrap();
        mock.inject(lose_response(&format!("/subjects/{subject}")));
    }
    client.delete_version("s", 1, false, CALL_TIMEOUT).await.unwrap();
    assert_eq!(client.delete_subject("t", false, CALL_TIMEOUT).await.unwrap(), Vec::<i32>::new());
    client.set_compatibility_level("NONE", Some("u"), CALL_TIMEOUT).await.unwrap();
    mock.inject(lose_response("/config/u"));
    client.delete_compatibility_level(Some("u"), CALL_TIMEOUT).await.unwrap();
    assert_eq!(mock.request_count(Some("DELETE"), "/"), 6, "each is repeated once");
}

#[tokio::test(start_paused = true)]
async fn a_normalized_schema_is_the_same_in_another_form() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    let first = avro(r#"{"type":"record","name":"shop.A","fields":[]}"#);
    let second = avro(r#"{"name":"A","namespace":"shop","type":"record","fields":[]}"#);
    client.register("s", &first, true, CALL_TIMEOUT).await.unwrap();
    let (_, message) = shown(client.lookup("s", &second, false, CALL_TIMEOUT).await);
    assert!(message.contains("does not have this schema"), "{message}");
    assert_eq!(client.lookup("s", &second, true, CALL_TIMEOUT).await.unwrap().version, Some(1));
    assert_eq!(client.register("s", &second, true, CALL_TIMEOUT).await.unwrap().version, Some(1));
    assert_eq!(client.register("s", &second, false, CALL_TIMEOUT).await.unwrap().version, Some(2));
}

#[tokio::test(start_paused = true)]
async fn contexts_are_a_part_of_names() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    for subject in ["orders", ":.shop:orders", ":.:views"] {
        client.register(subject, &avro(AVRO), false, CALL_TIMEOUT).await.unwrap();
    }
    let prefixed = async |prefix: &str| {
        let filter = SubjectFilter { prefix: prefix.to_owned(), with_deleted: false };
        client.subjects(&filter, CALL_TIMEOUT).await.unwrap()
    };
    assert_eq!(prefixed("").await, [":.shop:orders", "orders", "views"]);
    assert_eq!(prefixed(":.shop:").await, [":.shop:orders"]);
    assert_eq!(prefixed(":*:or").await, [":.shop:orders", "orders"]);
    assert_eq!(prefixed("or").await, ["orders"]);
    assert_eq!(mock.request_count(Some("POST"), "/subjects/%3A.shop%3Aorders/versions"), 1);
}
