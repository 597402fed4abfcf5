//! Proves: the GSSAPI exchange (RFC 4752), with a scripted security context: nothing is negotiated before
//! both sides are authenticated; a broker that insists on a security layer, or whose offer is malformed,
//! is rejected; configuration mistakes are errors that name the key.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::support::*;
use ottla_client::config::Value;
use ottla_client::security::Sasl;
use ottla_client::security::kerberos::{self, Reply, SecurityContext};
use ottla_client::{Client, Config, Error, Kind};
use ottla_gssapi::{Error as GssError, Step};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::sasl_handshake::SaslHandshakeResponse;
use tokio::net::TcpListener;

/// Scripted steps; "wrapping" prefixes a W.
#[derive(Debug)]
struct Script(VecDeque<Result<Step, GssError>>);

fn failed(operation: &'static str, message: &str) -> GssError {
    GssError::CallFailed { operation, message: message.to_owned() }
}

impl SecurityContext for Script {
    fn step(&mut self, _: &[u8]) -> Result<Step, GssError> {
        self.0
            .pop_front()
            .unwrap_or_else(|| Err(failed("initializing the security context", "no more steps")))
    }
    fn unwrap(&mut self, message: &[u8]) -> Result<Vec<u8>, GssError> {
        let inner = message.strip_prefix(b"W");
        inner.map(<[u8]>::to_vec).ok_or_else(|| failed("unwrapping the broker's offer", "a forged message"))
    }
    fn wrap(&mut self, message: &[u8]) -> Result<Vec<u8>, GssError> {
        Ok([b"W", message].concat())
    }
}

fn step(token: &str, complete: bool) -> Result<Step, GssError> {
    Ok(Step { token: token.into(), complete })
}

fn client(steps: impl IntoIterator<Item = Result<Step, GssError>>, keytab: bool) -> kerberos::Client {
    kerberos::Client::new(Box::new(Script(steps.into_iter().collect())), "kafka/b1".to_owned(), keytab)
}

/// A client whose context is complete.
fn established() -> kerberos::Client {
    let mut client = client([step("hello", false), step("", true)], false);
    assert_eq!(client.first().unwrap(), b"hello");
    assert_eq!(client.reply(b"proof").unwrap(), Reply { message: Vec::new(), last: false });
    client
}

#[test]
fn both_sides_authenticate_and_agree_on_no_security_layer() {
    let reply = established().reply(b"W\x07\0\xff\xff").unwrap();
    assert_eq!(reply, Reply { message: b"W\x01\0\0\0".to_vec(), last: true });
}

#[test]
fn an_offer_before_authentication_is_treated_as_a_token() {
    let mut client = client([step("hello", false), step("more", false)], false);
    client.first().unwrap();
    let reply = client.reply(b"W\x01\0\0\0").unwrap();
    assert_eq!(reply, Reply { message: b"more".to_vec(), last: false });
}

#[test]
fn malformed_and_forged_offers_are_rejected() {
    for (offer, expected) in [
        (&b"W"[..], "empty"),
        (b"W\x01\0\0", "3 bytes"),
        (b"W\x01\0\0\0\0", "5 bytes"),
        (b"W\x06\0\xff\xff", "insists on a security layer"),
        (b"\x01\0\0\0", "forged"),
        (b"", "forged"),
    ] {
        let error = established().reply(offer).expect_err("rejected");
        assert_eq!(error.kind(), Kind::Authentication);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn messages_of_the_library_come_with_a_fix() {
    let message_for = |cause: &str, keytab: bool| {
        let error = client([Err(failed("making a security context", cause))], keytab).first();
        error.expect_err("failed").to_string()
    };
    for (cause, keytab, hint) in [
        ("No Kerberos credentials available", false, "kinit"),
        ("Ticket expired", false, "kinit"),
        ("No Kerberos credentials available", true, "sasl.kerberos.principal"),
        ("Server kafka/b1@X not found in Kerberos database", false, "sasl.kerberos.service.name"),
        ("Cannot contact any KDC for realm 'X'", false, "cannot be reached"),
        ("Clock skew too great", false, "clocks"),
        ("A token was invalid", false, "broker's log"),
    ] {
        let message = message_for(cause, keytab);
        assert!(
            message.contains(cause) && message.contains(hint) && message.contains("kafka/b1"),
            "{message}"
        );
    }
}

fn sasl(pairs: &[(&str, &str)]) -> Result<Sasl, Error> {
    let pairs = pairs.iter().map(|(key, value)| (*key, Value::from(*value)));
    Sasl::from_config(&Config::from_pairs(pairs)?)
}

#[test]
fn configuration_mistakes_are_errors() {
    let service = ("sasl.kerberos.service.name", "kafka");
    assert_eq!(sasl(&[service]).unwrap().mechanism(), "GSSAPI");
    let jaas = "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true serviceName=kafka;";
    assert_eq!(sasl(&[("sasl.jaas.config", jaas)]).unwrap().mechanism(), "GSSAPI");
    let no_key = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;";
    for (pairs, expected) in [
        (vec![], "sasl.kerberos.service.name"),
        (vec![service, ("sasl.username", "u"), ("sasl.password", "p")], "does not use sasl.username"),
        (vec![service, ("sasl.kerberos.keytab", "/nowhere/k")], "/nowhere/k does not exist"),
        (vec![service, ("sasl.kerberos.principal", "alice")], "requires sasl.kerberos.keytab"),
        (vec![service, ("sasl.jaas.config", no_key)], "needs keyTab"),
    ] {
        let error = sasl(&pairs).expect_err("a mistake");
        assert_eq!(error.kind(), Kind::Config);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// Regression: the host was parsed from the address as displayed, which ends with the IP address.
#[tokio::test]
async fn the_principal_has_the_brokers_host_name() {
    for ip in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(ip).await.expect("a port");
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                handshake(&mut stream).await;
                let Some(header) = read_request(&mut stream).await else { continue };
                let offer =
                    SaslHandshakeResponse { mechanisms: vec!["GSSAPI".to_owned()], ..Default::default() };
                let (version, id) = (header.api_version, header.correlation_id);
                respond(&mut stream, ApiKey::SaslHandshake, version, id, &offer).await;
            }
        });
        let network = Arc::new(NamedNetwork::default());
        network.names.lock().insert("broker.ottla.test".to_owned(), vec![address]);
        let config = config(
            &format!("broker.ottla.test:{}", address.port()),
            &[("security.protocol", "SASL_PLAINTEXT"), ("sasl.kerberos.service.name", "kafka")],
        );
        // There is no ticket for this broker; the error names the principal.
        let result = within_deadline(Client::connect(config, environment(&network, 1), CALL_TIMEOUT)).await;
        let error = result.expect_err("no ticket").to_string();
        assert!(error.contains("GSSAPI with kafka/broker.ottla.test: "), "{error}");
    }
}
