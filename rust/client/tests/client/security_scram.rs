//! Proves: SCRAM matches the example of RFC 7677 and the rules of RFC 5802, and rejects servers that do
//! not know the password, request too few or too many iterations, or send malformed messages; JAAS is
//! parsed as data and never shown.

use std::time::{Duration, Instant};

use ottla_client::security::Secret;
use ottla_client::security::jaas::{Jaas, LoginModule};
use ottla_client::security::scram::{Client, Credentials, Hash};
use ottla_client::{Error, Kind};
use proptest::prelude::*;

/// RFC 7677, section 3.
const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
const SERVER_FIRST: &str =
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
const CLIENT_FINAL: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
const SERVER_FINAL: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

fn credentials(username: &str, password: &str) -> Credentials {
    Credentials { username: username.to_owned(), password: Secret::new(password), token: false }
}

fn client() -> Client {
    Client::new(Hash::Sha256, credentials("user", "pencil"), NONCE.to_owned())
}

fn rejection(server_first: &str) -> String {
    let error = client().process_first(server_first.as_bytes()).expect_err(server_first);
    assert_eq!(error.kind(), Kind::Authentication);
    error.to_string()
}

#[test]
fn the_example_of_rfc_7677() {
    let mut client = client();
    assert_eq!(client.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
    assert_eq!(client.process_first(SERVER_FIRST.as_bytes()).unwrap(), CLIENT_FINAL);
    client.process_final(SERVER_FINAL.as_bytes()).unwrap();
}

#[test]
fn names_are_escaped_and_delegation_tokens_are_marked() {
    let client = Client::new(Hash::Sha512, credentials("a=b,c", "x"), "n0".to_owned());
    assert_eq!(client.first(), "n,,n=a=3Db=2Cc,r=n0");
    let token = Credentials { token: true, ..credentials("id", "hmac") };
    assert_eq!(Client::new(Hash::Sha512, token, "n0".to_owned()).first(), "n,,n=id,r=n0,tokenauth=true");
}

#[test]
fn the_server_has_to_prove_that_it_knows_the_password() {
    let forged =
        ["v=AAAATRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", "v=", "v=????", "", "x=1", &SERVER_FINAL[..40]];
    for server_final in forged {
        let mut client = client();
        client.process_first(SERVER_FIRST.as_bytes()).unwrap();
        let error = client.process_final(server_final.as_bytes()).expect_err(server_final);
        assert!(error.message().contains("does not know the password"), "{server_final}: {error}");
    }
    let error = client().process_final(SERVER_FINAL.as_bytes()).expect_err("before the first message");
    assert_eq!(error.kind(), Kind::Authentication);
    let mut client = client();
    client.process_first(SERVER_FIRST.as_bytes()).unwrap();
    let error = client.process_final(b"e=invalid-proof\x1b[2J\r\nfoo").expect_err("an error");
    assert!(error.message().contains("invalid-proof") && !error.message().contains('\x1b'), "{error}");
}

#[test]
fn a_nonce_that_does_not_extend_the_clients_is_rejected() {
    for nonce in ["other", NONCE, "", "rOprNGfwEbeRWgbNEkqp%hvYDpWUa2RaTCAfuxFIlj"] {
        assert!(rejection(&format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")).contains("nonce"));
    }
}

#[test]
fn iterations_are_bounded_before_any_hashing() {
    for iterations in ["1", "4095", "1000001", "4294967295", "99999999999999999999"] {
        let started = Instant::now();
        let message = rejection(&format!("r={NONCE}x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i={iterations}"));
        assert!(message.contains("iterations") && message.contains("4096 to 1000000"), "{message}");
        assert!(started.elapsed() < Duration::from_secs(3));
    }
}

#[test]
fn malformed_messages_are_rejected() {
    assert!(rejection(&format!("m=ext,r={NONCE}x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")).contains("extension"));
    assert!(rejection("e=other-error").contains("other-error"));
    for malformed in ["", ",", "r=", "r=x,i=4096", "s=W22ZaJ0S,r=x,i=4096"] {
        rejection(malformed);
    }
    for rest in [
        "s=,i=4096",
        "s=??,i=4096",
        "s=W22ZaJ0SNY7soEsUEjb6gQ==",
        "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=",
        "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=-4096",
        "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4x",
    ] {
        assert!(rejection(&format!("r={NONCE}x,{rest}")).contains("malformed"), "{rest}");
    }
    assert!(
        rejection(&format!("r={NONCE}{},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "x".repeat(5000)))
            .contains("not a SCRAM message")
    );
}

proptest! {
    #[test]
    fn arbitrary_bytes_of_a_server_are_rejected(first: Vec<u8>, last: Vec<u8>) {
        let mut client = client();
        let _ = client.process_first(&first);
        prop_assert!(client.process_final(&last).is_err());
    }

    #[test]
    fn arbitrary_text_does_not_panic_the_jaas_parser(text: String) {
        let _ = text.parse::<Jaas>();
    }
}

fn jaas(text: &str) -> Result<Jaas, Error> {
    text.parse()
}

const PLAIN: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";

#[test]
fn jaas_is_parsed_as_java_parses_it() {
    let text = format!(
        "{PLAIN} required\n\tusername=\"al=i;ce\"\n  password='q\\\"\\'uote'\n serviceName = kafka ;\n"
    );
    let parsed = jaas(&text).unwrap();
    assert_eq!(parsed.module, LoginModule::Plain);
    let option = |name| parsed.option(name).map(Secret::expose);
    assert_eq!(option("username"), Some("al=i;ce"));
    assert_eq!(option("password"), Some("q\"'uote"));
    assert_eq!((option("serviceName"), option("nothing")), (Some("kafka"), None));
    assert!(!format!("{parsed:?}").contains("uote"));
}

#[test]
fn jaas_accepts_modules_of_shaded_kafka_clients() {
    for package in ["kafkashaded.", "org.apache.flink.kafka.shaded.", "_my1.x."] {
        let text = format!("{package}{PLAIN} required username=ann password=\"secret\";");
        assert_eq!(jaas(&text).expect(package).module, LoginModule::Plain);
    }
    let elsewhere = [
        format!("kafkashaded{PLAIN}"),
        format!(".{PLAIN}"),
        format!("a..{PLAIN}"),
        format!("1a.{PLAIN}"),
        format!("a/b.{PLAIN}"),
        format!("kafkashaded.{PLAIN}s"),
        "kafkashaded.com.sun.security.auth.module.Krb5LoginModule".to_owned(),
    ];
    for class in elsewhere {
        let error = jaas(&format!("{class} required username=ann password=x;")).expect_err(&class);
        assert!(error.to_string().contains("is not one of"), "{error}");
    }
}

#[test]
fn other_modules_and_malformed_entries_are_rejected_without_showing_them() {
    let wrong = [
        "com.sun.security.auth.module.JndiLoginModule required user.provider.url=\"ldap://hunter2\";"
            .to_owned(),
        "hunter2".to_owned(),
        String::new(),
        format!("{PLAIN} username=\"hunter2\";"),
        format!("{PLAIN} required username=\"hunter2\""),
        format!("{PLAIN} required password=\"hunter2;"),
        format!("{PLAIN} required password \"hunter2\";"),
        format!("{PLAIN} required password=;"),
        format!("{PLAIN} required =hunter2;"),
        format!("{PLAIN} required password=\"hunter2\" password=\"hunter2\";"),
        format!("{PLAIN} required password=\"hunter2\"; {PLAIN} required;"),
    ];
    for text in wrong {
        let error = jaas(&text).expect_err(&text);
        assert_eq!(error.kind(), Kind::Config);
        let message = format!("{error} {error:?}");
        assert!(message.contains("sasl.jaas.config") && !message.contains("hunter2"), "{message}");
    }
}
