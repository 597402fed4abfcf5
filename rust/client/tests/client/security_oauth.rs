//! Proves: tokens come from the application or from an OIDC endpoint, one request at a time; they are
//! cached until shortly before they expire and discarded when a broker rejects them; a hostile or slow
//! endpoint costs neither memory nor more than the connection's timeout; secrets are sent over https
//! only, unless http is allowed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use crate::support::*;
use ottla_client::config::Value;
use ottla_client::environment::{BoxFuture, Environment};
use ottla_client::error::Phase;
use ottla_client::security::{Secret, Token, TokenProvider};
use ottla_client::{Client, Config, Error, Kind, Route};
use ottla_mock::{MockCluster, MockConfig, SaslConfig};
use ottla_protocol::messages::metadata::MetadataRequest;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const TOKEN: &str = "head.body.sign-_~+/==";

async fn secured(session_lifetime: Option<Duration>) -> MockCluster {
    let users = [("service".to_owned(), TOKEN.to_owned())].into();
    let sasl = Some(SaslConfig { users, session_lifetime, ..Default::default() });
    MockCluster::start(MockConfig { sasl, ..Default::default() }).await.unwrap()
}

const BEARER: [(&str, &str); 2] =
    [("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanism", "OAUTHBEARER")];

/// A provider whose result the test sets.
#[derive(Debug)]
struct StubProvider {
    result: Mutex<Result<(String, Option<Duration>), Error>>,
    calls: AtomicUsize,
    delay: Duration,
}

impl StubProvider {
    fn new(token: &str, life: Option<Duration>) -> Arc<Self> {
        let result = Mutex::new(Ok((token.to_owned(), life)));
        Arc::new(Self { result, calls: AtomicUsize::new(0), delay: ms(30) })
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl TokenProvider for StubProvider {
    fn token(&self) -> BoxFuture<'_, Result<Token, Error>> {
        Box::pin(async {
            self.calls.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(self.delay).await;
            let (token, life) = self.result.lock().clone()?;
            let expires = life.map(|life| SystemTime::now() + life);
            let extensions = vec![("logicalCluster".to_owned(), "a b=c".to_owned())];
            Ok(Token { value: Secret::new(token), expires, extensions })
        })
    }
}

async fn with_provider(cluster: &MockCluster, provider: &Arc<StubProvider>) -> Result<Client, Error> {
    let config = config(&cluster.bootstrap(), &BEARER);
    let environment = Environment::default().with_token_provider(Arc::clone(provider) as _);
    within_deadline(Client::connect(config, environment, CALL_TIMEOUT)).await
}

#[tokio::test]
async fn one_token_serves_all_connections_until_its_renewal() {
    let cluster = secured(None).await;
    let provider = StubProvider::new(TOKEN, Some(Duration::from_secs(60)));
    let client = with_provider(&cluster, &provider).await.expect("a token");
    let requests = (1..=3).map(|broker| {
        let client = client.clone();
        tokio::spawn(async move {
            client.send(Route::Broker(broker), &MetadataRequest::default(), i16::MAX).await.map(drop)
        })
    });
    for request in requests.collect::<Vec<_>>() {
        within_deadline(request).await.unwrap().expect("authenticated");
    }
    assert_eq!(provider.calls(), 1, "one request for all");
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires_and_used_while_it_cannot_be() {
    let cluster = secured(Some(ms(200))).await;
    let provider = StubProvider::new(TOKEN, Some(ms(3000)));
    let client = with_provider(&cluster, &provider).await.expect("a token");
    let connection = within_deadline(client.connection(Route::Broker(1))).await.unwrap();
    until(|| provider.calls() >= 2).await;
    assert!(connection.close_reason().is_none());
    // From now on there are no new tokens; sessions continue until the last one expires.
    *provider.result.lock() = Err(Error::new(Kind::Authentication, "no token today"));
    let before = provider.calls();
    until(|| provider.calls() > before + 1).await;
    assert!(connection.close_reason().is_none(), "the old token is still valid");
    until(|| connection.close_reason().is_some()).await;
    let cause = connection.close_reason().unwrap();
    assert!(cause.message().contains("no token today"), "{cause}");
    assert_eq!((cause.kind(), cause.context().phase), (Kind::Authentication, Some(Phase::Sasl)));
}

#[tokio::test]
async fn a_rejected_token_is_a_typed_error_and_not_used_again() {
    let cluster = secured(None).await;
    let provider = StubProvider::new("bad.token", Some(Duration::from_secs(60)));
    let error = with_provider(&cluster, &provider).await.expect_err("rejected");
    assert_eq!(error.kind(), Kind::Authentication, "{error}");
    let message = format!("{error} {error:?}");
    assert!(message.contains("invalid_token") && !message.contains("bad.token"), "{message}");
    assert_eq!(provider.calls(), 3, "a new one for each server");
}

#[tokio::test]
async fn an_invalid_token_is_not_sent() {
    let cluster = secured(None).await;
    for token in ["", "a b", "a\u{1}auth=Bearer b", "a,b", "=="] {
        let error = with_provider(&cluster, &StubProvider::new(token, None)).await.expect_err(token);
        assert_eq!(error.kind(), Kind::Authentication, "{error}");
        assert!(error.message().contains("the token cannot be used"), "{error}");
    }
}

/// An endpoint that responds to each request with these bytes and records the requests.
async fn endpoint(response: Vec<u8>) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&requests);
    let address = tcp_server(move |mut stream| {
        let (response, recorded) = (response.clone(), Arc::clone(&recorded));
        async move {
            let mut request = Vec::new();
            while !String::from_utf8_lossy(&request).contains("grant_type=") {
                let mut part = [0; 4096];
                match stream.read(&mut part).await {
                    Ok(count @ 1..) => request.extend_from_slice(&part[..count]),
                    _ => return,
                }
            }
            recorded.lock().push(String::from_utf8(request).unwrap());
            let _ = stream.write_all(&response).await;
        }
    });
    (address.await, requests)
}

fn http(status: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into()
}

fn oidc(address: SocketAddr) -> Vec<(&'static str, String)> {
    let url = format!("http://{address}/token?tenant=1");
    [
        BEARER[0],
        BEARER[1],
        ("sasl.oauthbearer.token.endpoint.allow.http", "true"),
        ("sasl.oauthbearer.client.credentials.client.id", "me:&"),
        ("sasl.oauthbearer.client.credentials.client.secret", "hunter2 +"),
        ("sasl.oauthbearer.scope", "a b&c"),
        ("socket.connection.setup.timeout.ms", "1000"),
        ("sasl.oauthbearer.token.endpoint.url", &url),
    ]
    .map(|(key, value)| (key, value.to_owned()))
    .into()
}

async fn with_oidc(
    cluster: &MockCluster,
    pairs: &[(&str, String)],
    timeout: Duration,
) -> Result<Client, Error> {
    let pairs: Vec<_> = pairs.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let config = config(&cluster.bootstrap(), &pairs);
    within_deadline(Client::connect(config, Environment::default(), timeout)).await
}

#[tokio::test]
async fn an_endpoint_returns_tokens_for_client_id_and_secret() {
    let cluster = secured(None).await;
    let body = format!("{{\"access_token\":\"{TOKEN}\",\"token_type\":\"Bearer\",\"expires_in\":300}}");
    let (address, requests) = endpoint(http("200 OK", &body)).await;
    let client = with_oidc(&cluster, &oidc(address), CALL_TIMEOUT).await.expect("a token");
    for broker in 1..=3 {
        within_deadline(client.connection(Route::Broker(broker))).await.expect("authenticated");
    }
    assert_eq!(requests.lock().len(), 1, "the token is cached");
    let request = requests.lock()[0].clone();
    assert!(request.starts_with("POST /token?tenant=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Basic bWU6JjpodW50ZXIyICs=\r\n"), "{request}");
    assert!(request.ends_with("grant_type=client_credentials&scope=a+b%26c"), "{request}");

    let mut encoded = oidc(address);
    encoded.push(("sasl.oauthbearer.header.urlencode", "true".to_owned()));
    with_oidc(&cluster, &encoded, CALL_TIMEOUT).await.expect("a token");
    let request = requests.lock()[1].clone();
    // me%3A%26:hunter2+%2B
    assert!(request.contains("authorization: Basic bWUlM0ElMjY6aHVudGVyMislMkI=\r\n"), "{request}");
}

#[tokio::test]
async fn failures_of_an_endpoint_are_reported_in_time() {
    let cluster = secured(None).await;
    let huge = http("200 OK", &format!("{{\"access_token\":\"{}\"}}", "x".repeat(10 << 20)));
    let endless_header = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 10 << 20]].concat();
    let cases = [
        (
            http("401 Unauthorized", "{\"error\":\"invalid_client\",\"error_description\":\"wr\\u001bong\"}"),
            Kind::Authentication,
            "invalid_client: wr\\u{1b}ong",
        ),
        (http("302 Found", ""), Kind::Authentication, "returned status 302"),
        (http("503 Unavailable", "later"), Kind::Bootstrap, "returned status 503"),
        (http("200 OK", "{}"), Kind::Authentication, "no access_token"),
        (http("200 OK", "not JSON"), Kind::Authentication, "no access_token"),
        (huge, Kind::Bootstrap, "cannot be read"),
        (endless_header, Kind::Bootstrap, "no token from"),
        (b"SSH-2.0-OpenSSH\r\n".to_vec(), Kind::Bootstrap, "no token from"),
        (Vec::new(), Kind::Bootstrap, "no token from"),
    ];
    let cluster = Arc::new(cluster);
    let mut attempts = tokio::task::JoinSet::new();
    for (response, kind, expected) in cases {
        let (address, _) = endpoint(response).await;
        let cluster = Arc::clone(&cluster);
        attempts.spawn(async move {
            // Transient failures are retried until then.
            let error = with_oidc(&cluster, &oidc(address), ms(5_000)).await.expect_err(expected);
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().contains(expected), "{expected}: {error}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        });
    }
    while let Some(attempt) = attempts.join_next().await {
        attempt.expect("the expected error");
    }
    let error = with_oidc(&cluster, &oidc(closed_tcp_port().await), ms(1_000)).await.expect_err("rejected");
    assert!(error.message().contains("no token from http://127.0.0.1"), "{error}");
}

#[tokio::test]
async fn a_slow_endpoint_costs_no_more_than_the_connections_timeout() {
    let cluster = secured(None).await;
    let slow = tcp_server(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n").await;
        while stream.write_all(b" ").await.is_ok() {
            tokio::time::sleep(ms(100)).await;
        }
    });
    let error = with_oidc(&cluster, &oidc(slow.await), ms(700)).await.expect_err("slow");
    assert_eq!(error.context().phase, Some(Phase::Sasl), "{error}");
}

fn config_error(pairs: &[(&str, &str)]) -> String {
    let all = [("bootstrap.servers", "localhost:9092"), BEARER[0], BEARER[1]];
    let all = all.iter().chain(pairs).map(|(key, value)| (*key, Value::from(*value)));
    let made = Config::from_pairs(all).and_then(|config| Client::new(config, Environment::default()));
    let error = made.expect_err("a wrong configuration");
    assert_eq!(error.kind(), Kind::Config, "{error}");
    let message = format!("{error} {error:?}");
    assert!(!message.contains("hunter2"), "{message}");
    message
}

#[test]
fn missing_and_unsafe_keys_are_errors_before_connecting() {
    const URL: &str = "sasl.oauthbearer.token.endpoint.url";
    const MODULE: &str = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required";
    assert!(config_error(&[]).contains("needs a token"));
    let (id, secret) = (
        ("sasl.oauthbearer.client.credentials.client.id", "me"),
        ("sasl.oauthbearer.client.credentials.client.secret", "hunter2"),
    );
    assert!(config_error(&[(URL, "http://idp/token"), id, secret]).contains("allow.http"));
    assert!(config_error(&[(URL, "https://me:hunter2@idp/token"), id, secret]).contains("without user"));
    for url in ["file:///etc/passwd", "idp/token", "https://", "ht tp://x", "ftp://idp/x"] {
        assert!(config_error(&[(URL, url), id, secret]).contains(URL), "{url}");
    }
    assert!(config_error(&[(URL, "https://idp/token"), id]).contains("client.secret"));
    assert!(
        config_error(&[("sasl.login.callback.handler.class", "com.example.Mine")])
            .contains("no class is loaded")
    );
    // AWS's classes, in each form.
    let handler = (
        "sasl.login.callback.handler.class",
        "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler",
    );
    let module = ("sasl.jaas.config", "software.amazon.msk.auth.iam.IAMLoginModule required;");
    for pair in [
        handler,
        module,
        ("sasl.mechanism", "AWS_MSK_IAM"),
        ("sasl.client.callback.handler.class", "software.amazon.msk.auth.iam.IAMClientCallbackHandler"),
    ] {
        assert!(config_error(&[pair]).contains("sasl.oauthbearer.token.provider"), "{pair:?}");
    }
    let unsecured = format!("{MODULE} unsecuredLoginStringClaim_sub=\"me\";");
    assert!(config_error(&[("sasl.jaas.config", &unsecured)]).contains("token callback"));
    let extension = format!("{MODULE} extension_auth=\"x\";");
    assert!(config_error(&[("sasl.jaas.config", &extension)]).contains("SASL extension"));
    // librdkafka's name of the key, and both names.
    let other = ("sasl.oauthbearer.client.secret", "hunter2 the second");
    assert!(config_error(&[(URL, "https://idp/token"), other]).contains("client.id"));
    assert!(config_error(&[secret, other]).contains("sasl.oauthbearer.client.secret are two names"));
}

#[test]
fn files_of_assertions_are_used_only_if_the_environment_lists_them() {
    let file = std::env::temp_dir().join(format!("ottla-assertion-{}.pem", std::process::id()));
    std::fs::write(&file, rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
    let path = file.to_str().unwrap();
    let made = |listed: &str| {
        let pairs = [
            BEARER[0],
            BEARER[1],
            ("sasl.oauthbearer.token.endpoint.url", "https://idp/token"),
            ("sasl.oauthbearer.assertion.claim.iss", "me"),
            ("sasl.oauthbearer.assertion.algorithm", "ES256"),
            ("sasl.oauthbearer.assertion.private.key.file", path),
        ];
        let environment = Environment::default().with_assertion_files(listed);
        Client::new(config("localhost:9092", &pairs), environment)
    };
    made(&format!("/elsewhere, {path}")).expect("permitted");
    for listed in ["", "/elsewhere", &path[..path.len() - 1]] {
        let error = made(listed).expect_err("not permitted");
        assert_eq!(error.kind(), Kind::Config, "{error}");
        assert!(error.message().contains("OTTLA_ASSERTION_FILES"), "{error}");
    }
    std::fs::remove_file(file).unwrap();
}
