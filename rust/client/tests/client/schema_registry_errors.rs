//! Proves: each failure that is not retriable is an error at once, which says what was called, where, the
//! registry's own code and message, and what to do; hostile responses cost neither memory nor a panic.

use crate::support::registry::*;
use crate::support::*;
use ottla_client::Kind;
use ottla_client::schema_registry::{DataContract, NewSchema, SubjectFilter};
use ottla_mock::schema_registry::{RegistryAuth, RegistryFault, RegistryReaction};
use ottla_schema::{SchemaId, SchemaType};
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn unknown_ids_subjects_and_versions_are_told_apart() {
    let mock = registry().await;
    mock.register("s", "AVRO", AVRO, &[]).unwrap();
    let client = registry_client(&mock, &[]);
    let url = mock.url();
    let started = Instant::now();
    let missing = client.entry(SchemaId::Id(7), None, CALL_TIMEOUT).await.unwrap_err();
    assert_eq!(missing.kind(), Kind::Schema);
    assert_eq!(missing.context().registry_code, Some(40403));
    assert_eq!(missing.context().schema_id.as_deref(), Some("7"));
    let expected = format!(
        "looking up schema 7: it does not exist in {url} (error 40403: \"Schema not found\"): it was deleted, or the data was written with another registry"
    );
    assert_eq!(missing.to_string(), expected);
    let (kind, message) = shown(client.latest("gone", CALL_TIMEOUT).await);
    assert_eq!(kind, Kind::Schema);
    assert!(message.contains("subject \"gone\" does not exist") && message.contains("40401"), "{message}");
    let (_, message) = shown(client.version("s", 9, false, CALL_TIMEOUT).await);
    assert!(message.contains("does not have this version") && message.contains("40402"), "{message}");
    let (_, message) = shown(client.lookup("s", &avro("\"string\""), false, CALL_TIMEOUT).await);
    assert!(message.contains("does not have this schema"), "{message}");
    assert_eq!(started.elapsed(), ms(0), "none is retried");
}

#[tokio::test(start_paused = true)]
async fn refused_schemas_name_the_reason() {
    let mock = registry().await;
    mock.register("s", "AVRO", AVRO, &[]).unwrap();
    mock.refuse_changes("s", true);
    let client = registry_client(&mock, &[]);
    let (kind, message) = shown(client.register("s", &avro("\"string\""), false, CALL_TIMEOUT).await);
    assert_eq!(kind, Kind::Schema);
    assert!(
        message.contains("incompatible with earlier versions of subject \"s\"") && message.contains("409")
    );
    let (kind, message) = shown(client.register("t", &avro("{"), false, CALL_TIMEOUT).await);
    assert_eq!(kind, Kind::Schema);
    assert!(message.contains("refused the request as invalid") && message.contains("42201"), "{message}");
    let references = vec![reference("x.proto", "none", 1)];
    let schema = NewSchema {
        schema_type: SchemaType::Protobuf,
        text: shared("message M {}"),
        references,
        contract: DataContract::default(),
    };
    let (_, message) = shown(client.register("t", &schema, false, CALL_TIMEOUT).await);
    assert!(message.contains("No schema reference found"), "{message}");
    assert_eq!(mock.subjects(), ["s"]);
}

#[tokio::test(start_paused = true)]
async fn wrong_credentials_are_errors_without_secrets() {
    let auth = RegistryAuth::Basic("key".to_owned(), "right".to_owned());
    let mock = registry_with(Some(auth), "").await;
    let client = registry_client(&mock, &[("basic.auth.user.info", "key:hunter2")]);
    let (kind, message) = shown(client.subjects(&SubjectFilter::default(), CALL_TIMEOUT).await);
    assert_eq!(kind, Kind::Authentication);
    assert!(message.contains("rejected the credentials (error 401: \"Unauthorized\")"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
    mock.inject(RegistryFault::once(status(403)));
    let client = registry_client(&mock, &[("basic.auth.user.info", "key:right")]);
    let (kind, message) = shown(client.subjects(&SubjectFilter::default(), CALL_TIMEOUT).await);
    assert_eq!(kind, Kind::Authorization);
    assert!(message.contains("lack the permission"), "{message}");
}

fn status(status: u16) -> RegistryReaction {
    RegistryReaction::Status {
        status,
        code: Some(i64::from(status)),
        message: "no\u{1b}[31m".into(),
        retry_after: None,
    }
}

fn body(content_type: &str, body: &str) -> RegistryReaction {
    RegistryReaction::Body { content_type: content_type.into(), body: body.to_owned().into() }
}

#[tokio::test(start_paused = true)]
async fn responses_of_other_servers_are_recognised() {
    let mock = registry().await;
    let client = registry_client(&mock, &[("retry.backoff.max.ms", "0"), ("response.max.bytes", "100000")]);
    let huge = format!("\"{}\"", "x".repeat(200_000));
    let deep = "[".repeat(50_000);
    let cases = [
        (body("text/html", "<html>Grafana</html>"), "is not a schema registry: it returned HTML"),
        (body("text/plain", "ok"), "something other than JSON"),
        (body("application/json", &deep), "something other than JSON"),
        (body("application/json", "{}"), "it has no field \"schema\""),
        (body("application/json", r#"{"schema":"x","schemaType":"XML"}"#), "its type \"XML\" is not known"),
        (
            body("application/json", &huge),
            "larger than 100000 bytes; raise schema.registry.response.max.bytes",
        ),
        (
            RegistryReaction::Redirect("https://u:hunter2@sso.example/login?t=hunter2".into()),
            "redirects to https://sso.example",
        ),
        (status(418), "refused the request (error 418: \"no\\u{1b}[31m\")"),
    ];
    for (reaction, expected) in cases {
        mock.inject(RegistryFault::once(reaction));
        let (kind, message) = shown(client.entry(SchemaId::Id(7), None, CALL_TIMEOUT).await);
        assert_eq!(kind, Kind::Schema, "{message}");
        assert!(message.contains(expected) && message.contains(&mock.url()), "{expected}: {message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
    let wrong_path = try_registry_client(&format!("{}/api", mock.url()), &[]).unwrap();
    let (_, message) = shown(wrong_path.subjects(&SubjectFilter::default(), CALL_TIMEOUT).await);
    assert!(message.contains("does not have the path /subjects"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_cycle_of_references_is_an_error() {
    let mock = registry().await;
    let document = |subject: &str, to: &str| {
        format!(
            r#"{{"schema":"\"x\"","subject":"{subject}","version":1,"references":[{{"name":"n","subject":"{to}","version":1}}]}}"#
        )
    };
    for (subject, to) in [("a", "b"), ("b", "c"), ("c", "a")] {
        let fault = RegistryFault::always(body("application/json", &document(subject, to)));
        mock.inject(fault.path(&format!("/subjects/{subject}/")));
    }
    let client = registry_client(&mock, &[]);
    let (kind, message) = shown(client.version("a", 1, false, CALL_TIMEOUT).await);
    assert_eq!(kind, Kind::Schema);
    assert!(message.contains("it refers to itself"), "{message}");
    // A chain without an end is a response to each request.
    for number in 0..40 {
        let fault = body("application/json", &document("x", &format!("chain{}", number + 1)));
        mock.inject(RegistryFault::always(fault).path(&format!("/subjects/chain{number}/")));
    }
    let (_, message) = shown(client.version("chain0", 1, false, CALL_TIMEOUT).await);
    assert!(message.contains("longer than 32"), "{message}");
    // Each level twice: two to the power of the depth.
    for number in 0..31 {
        let next = format!(r#"{{"name":"n","subject":"wide{}","version":1}}"#, number + 1);
        let text = format!(r#"{{"schema":"\"x\"","references":[{next},{next}]}}"#);
        let fault = body("application/json", if number == 30 { r#"{"schema":"x"}"# } else { &text });
        mock.inject(RegistryFault::always(fault).path(&format!("/subjects/wide{number}/")));
    }
    let (_, message) = shown(client.version("wide0", 1, false, CALL_TIMEOUT).await);
    assert!(message.contains("more than 10000 schemas"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_closed_client_says_so() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    client.close();
    let (kind, message) = shown(client.subjects(&SubjectFilter::default(), CALL_TIMEOUT).await);
    assert_eq!(kind, Kind::Closed, "{message}");
    assert!(mock.requests().is_empty());
}
