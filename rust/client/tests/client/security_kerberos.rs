//! Proves: GSSAPI's conversation (RFC 4752) with a security context that the test scripts: nothing is
//! agreed on before both sides have proven who they are; a broker that insists on a layer, or whose
//! offer is malformed, is refused; what is wrong with the configuration is told.

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

/// Steps as the test says; "wrapping" puts a W before.
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
fn both_prove_who_they_are_and_agree_on_no_layer() {
    let reply = established().reply(b"W\x07\0\xff\xff").unwrap();
    assert_eq!(reply, Reply { message: b"W\x01\0\0\0".to_vec(), last: true });
}

#[test]
fn an_offer_before_the_proof_is_a_token_and_nothing_else() {
    let mut client = client([step("hello", false), step("more", false)], false);
    client.first().unwrap();
    let reply = client.reply(b"W\x01\0\0\0").unwrap();
    assert_eq!(reply, Reply { message: b"more".to_vec(), last: false });
}

#[test]
fn malformed_and_forged_offers_are_refused() {
    for (offer, words) in [
        (&b"W"[..], "empty"),
        (b"W\x01\0\0", "3 bytes"),
        (b"W\x01\0\0\0\0", "5 bytes"),
        (b"W\x06\0\xff\xff", "insists on a security layer"),
        (b"\x01\0\0\0", "forged"),
        (b"", "forged"),
    ] {
        let error = established().reply(offer).expect_err("refused");
        assert_eq!(error.kind(), Kind::Authentication);
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn the_library_s_words_come_with_what_to_do() {
    let told = |words: &str, keytab: bool| {
        let error = client([Err(failed("initializing the security context", words))], keytab).first();
        error.expect_err("failed").to_string()
    };
    for (words, keytab, hint) in [
        ("No Kerberos credentials available", false, "kinit"),
        ("Ticket expired", false, "kinit"),
        ("No Kerberos credentials available", true, "sasl.kerberos.principal"),
        ("Server kafka/b1@X not found in Kerberos database", false, "sasl.kerberos.service.name"),
        ("Cannot contact any KDC for realm 'X'", false, "cannot be reached"),
        ("Clock skew too great", false, "clocks"),
        ("A token was invalid", false, "broker's log"),
    ] {
        let told = told(words, keytab);
        assert!(told.contains(words) && told.contains(hint) && told.contains("kafka/b1"), "{told}");
    }
}

fn sasl(pairs: &[(&str, &str)]) -> Result<Sasl, Error> {
    let pairs = pairs.iter().map(|(key, value)| (*key, Value::from(*value)));
    Sasl::from_config(&Config::from_pairs(pairs)?)
}

#[test]
fn what_is_wrong_with_the_configuration_is_told() {
    let service = ("sasl.kerberos.service.name", "kafka");
    assert_eq!(sasl(&[service]).unwrap().mechanism(), "GSSAPI");
    let jaas = "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true serviceName=kafka;";
    assert_eq!(sasl(&[("sasl.jaas.config", jaas)]).unwrap().mechanism(), "GSSAPI");
    let no_key = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;";
    for (pairs, words) in [
        (vec![], "sasl.kerberos.service.name"),
        (vec![service, ("sasl.username", "u"), ("sasl.password", "p")], "no use for sasl.username"),
        (vec![service, ("sasl.kerberos.keytab", "/nowhere/k")], "there is no file /nowhere/k"),
        (vec![service, ("sasl.kerberos.principal", "alice")], "belongs to sasl.kerberos.keytab"),
        (vec![service, ("sasl.jaas.config", no_key)], "needs keyTab"),
    ] {
        let error = sasl(&pairs).expect_err("refused");
        assert_eq!(error.kind(), Kind::Config);
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// Regression: the host was cut out of the address in words, which has the IP address behind it.
#[tokio::test]
async fn the_broker_is_named_by_its_host_whatever_its_address_is() {
    for ip in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(ip).await.expect("a port");
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                shake_hands(&mut stream).await;
                let Some(asked) = read_request(&mut stream).await else { continue };
                let offer =
                    SaslHandshakeResponse { mechanisms: vec!["GSSAPI".to_owned()], ..Default::default() };
                let (version, id) = (asked.api_version, asked.correlation_id);
                respond(&mut stream, ApiKey::SaslHandshake, version, id, &offer).await;
            }
        });
        let network = Arc::new(Names::default());
        network.names.lock().insert("broker.ottla.test".to_owned(), vec![address]);
        let config = config(
            &format!("broker.ottla.test:{}", address.port()),
            &[("security.protocol", "SASL_PLAINTEXT"), ("sasl.kerberos.service.name", "kafka")],
        );
        // There is no ticket for such a broker, and the error says for whom there should be one.
        let refused = soon(Client::connect(config, environment(&network, 1), SOON)).await;
        let error = refused.expect_err("no ticket").to_string();
        assert!(error.contains("GSSAPI with kafka/broker.ottla.test: "), "{error}");
    }
}
