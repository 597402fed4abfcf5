//! Proves: through a SOCKS5 or HTTP proxy a client connects to nothing but the proxy, resolves no broker's name,
//! and works as without one; each failure is told apart by its phase and its message; a hostile proxy costs
//! neither memory nor more than the timeout of connecting; no password is in an error.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::support::proxy::test_proxy;
use crate::support::tls::{Authority, Terms, broker, settings, terminate};
use crate::support::*;
use ottla_client::config::Value;
use ottla_client::connection::{Settings, connect};
use ottla_client::doctor::{Check, Reason, Targets, examine};
use ottla_client::error::Phase;
use ottla_client::producer::Producer;
use ottla_client::{Client, Config, Endpoint, Error, Kind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const USER: (&str, &str) = ("ann", "p@ss:hunter2");
/// As it is written in a URL.
const USER_INFO: &str = "ann:p%40ss%3Ahunter2@";

/// The error of connecting to `kafka.internal:9092` through a proxy.
async fn fails(scheme: &str, user_info: &str, proxy: SocketAddr) -> Error {
    let url = format!("{scheme}://{user_info}{proxy}");
    let settings = Settings::try_from(&config("kafka.internal:9092", &[("proxy.url", &url)])).unwrap();
    let endpoint = Endpoint { host: "kafka.internal".to_owned(), port: 9092 };
    let environment = memory_environment();
    let connecting = connect(&endpoint, &settings, &environment, None);
    let error = within_deadline(connecting).await.expect_err("no connection");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    error
}

fn address(cluster: &ottla_mock::MockCluster) -> SocketAddr {
    cluster.bootstrap().split(',').next().unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_client_works_through_either_proxy_and_resolves_no_name() {
    for scheme in ["socks5h", "http"] {
        for (user_info, login) in [("", None), (USER_INFO, None), (USER_INFO, Some(USER))] {
            let cluster = cluster(3).await;
            let proxy = test_proxy(address(&cluster), login);
            let network = Arc::new(NamedNetwork::default());
            network.names.lock().insert("proxy".to_owned(), vec![proxy.address]);
            let url = format!("{scheme}://{user_info}proxy:{}", proxy.address.port());
            let config = config("kafka.internal:9092", &[("proxy.url", &url)]);
            let connecting = Client::connect(config, environment(&network, 1), CALL_TIMEOUT);
            let client = within_deadline(connecting).await.expect("a client");
            let producer = Producer::new(client.clone()).expect("a producer");
            for partition in 0..3 {
                let delivery = send(&producer, partition, "value").await;
                assert_eq!(offset_of(&delivery).await.unwrap(), 0);
            }
            let targets = proxy.targets.lock().clone();
            assert_eq!(targets[0], "kafka.internal:9092");
            for broker in cluster.bootstrap().split(',') {
                assert!(targets.iter().any(|target| target == broker), "{targets:?}");
            }
            assert!(network.connects.lock().iter().all(|address| *address == proxy.address));
            assert!(network.resolved.lock().iter().all(|name| name == "proxy"));
            assert!(!client.connections().is_empty());
            for status in client.connections() {
                let steps: Vec<Phase> = status.phases.iter().map(|(phase, _)| *phase).collect();
                assert_eq!(steps, [Phase::Dns, Phase::Tcp, Phase::Proxy, Phase::ApiVersions]);
                assert!(
                    status.address.ends_with(&format!("(proxy {})", proxy.address)),
                    "{}",
                    status.address
                );
            }
        }
    }
}

#[tokio::test]
async fn tls_is_with_the_broker_under_its_own_name() {
    let (_cluster, plain) = broker(None).await;
    let authority = Authority::new("authority");
    let server = terminate(Terms::new(authority.issue(&["kafka.internal"], |_| {})), plain).await;
    let proxy = test_proxy(server, None);
    let url = format!("socks5h://{}", proxy.address);
    let pem = authority.pem();
    let settings = settings(server, &[("ssl.truststore.certificates", &pem), ("proxy.url", &url)]).unwrap();
    let environment = memory_environment();
    for (host, is_named) in [("kafka.internal", true), ("other.internal", false)] {
        let endpoint = Endpoint { host: host.to_owned(), port: 9093 };
        let connected = within_deadline(connect(&endpoint, &settings, &environment, None)).await;
        match connected {
            Ok(_) => assert!(is_named),
            Err(error) => {
                assert!(!is_named && error.message().contains("kafka.internal"), "{error}");
                assert_eq!(error.context().phase, Some(Phase::Tls));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_step_to_a_proxy_has_its_own_error() {
    let closed = closed_port();
    let error = fails("socks5h", USER_INFO, closed).await;
    let context = error.context();
    assert_eq!((error.kind(), context.phase), (Kind::Connection, Some(Phase::Tcp)));
    assert!(
        error.message().starts_with(&format!("the proxy socks5h://{closed}: connection refused")),
        "{error}"
    );
    assert_eq!(context.address.as_deref(), Some(&*format!("kafka.internal:9092 (proxy {closed})")));

    let config = config("kafka:9092", &[("proxy.url", "http://no-such-proxy:3128")]);
    let environment = environment(&Arc::default(), 1);
    let error = within_deadline(Client::connect(config, environment, ms(500))).await.expect_err("no name");
    assert!(error.message().contains("the proxy http://no-such-proxy:3128: the name"), "{error}");
    assert_eq!(error.attempts()[0].context().phase, Some(Phase::Dns));

    let cluster = cluster(1).await;
    for scheme in ["socks5h", "http"] {
        let proxy = test_proxy(address(&cluster), Some(USER));
        let error = fails(scheme, "", proxy.address).await;
        assert_eq!((error.kind(), error.context().phase), (Kind::Authentication, Some(Phase::Proxy)));
        assert!(
            error.message().contains("asks for a user and a password, and none is configured"),
            "{error}"
        );
        assert!(error.message().ends_with("see the user and the password in proxy.url"), "{error}");
        let error = fails(scheme, "ann:hunter2@", proxy.address).await;
        assert_eq!((error.kind(), error.context().phase), (Kind::Authentication, Some(Phase::Proxy)));
        assert!(error.message().contains("it rejected the user and the password"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_hangs_up_on_a_login_has_refused_it() {
    let proxy = server(async |mut stream| {
        let _ = stream.read(&mut [0; 64]).await;
        let _ = stream.write_all(&[5, 2]).await;
        let _ = stream.read(&mut [0; 512]).await;
    });
    let error = fails("socks5h", USER_INFO, proxy).await;
    assert_eq!((error.kind(), error.context().phase), (Kind::Authentication, Some(Phase::Proxy)));
}

#[tokio::test(start_paused = true)]
async fn what_a_proxy_replies_is_in_the_error() {
    /// A SOCKS5 proxy that accepts the client, and then replies so.
    fn socks(reply: &'static [u8]) -> SocketAddr {
        server(move |mut stream| async move {
            let _ = stream.read(&mut [0; 64]).await;
            let _ = stream.write_all(&[5, 0]).await;
            let _ = stream.read(&mut [0; 512]).await;
            let _ = stream.write_all(reply).await;
        })
    }
    /// A peer that replies so to the first message.
    fn raw(reply: &'static [u8]) -> SocketAddr {
        server(move |mut stream| async move {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(reply).await;
        })
    }
    for (scheme, proxy, expected) in [
        (
            "socks5h",
            socks(&[5, 1, 0, 1, 0, 0, 0, 0, 0, 0]),
            "cannot reach kafka.internal:9092: general failure (SOCKS reply 1)",
        ),
        (
            "socks5h",
            socks(&[5, 2, 0, 1, 0, 0, 0, 0, 0, 0]),
            "rules do not allow connections to kafka.internal:9092 (SOCKS reply 2)",
        ),
        ("socks5h", socks(&[5, 4, 0, 1, 0, 0, 0, 0, 0, 0]), "its name unknown (SOCKS reply 4)"),
        ("socks5h", socks(&[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]), "connection refused (SOCKS reply 5)"),
        ("socks5h", socks(&[5, 99, 0, 1, 0, 0, 0, 0, 0, 0]), "(SOCKS reply 99)"),
        ("socks5h", socks(&[5, 0, 0, 7, 0, 0]), "does not speak SOCKS5"),
        ("socks5h", socks(&[4, 0, 0, 1, 0]), "does not speak SOCKS5"),
        ("socks5h", socks(&[5, 0, 0, 3, 255, 0]), "closed the connection during its handshake"),
        ("socks5h", raw(&[5, 2]), "chose the authentication method 2, which was not offered"),
        (
            "socks5h",
            raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            "speaks HTTP; if it is an HTTP proxy, write http://",
        ),
        ("socks5h", raw(b""), "it asks for a user and a password, or is no SOCKS5 proxy"),
        ("http", raw(b"HTTP/1.1 403 Forbidden\x1b[31m\r\n\r\n"), "does not speak HTTP"),
        (
            "http",
            raw(b"HTTP/1.1 403 Forbidden\r\n\r\n"),
            "does not allow connections to kafka.internal:9092 (status 403 Forbidden)",
        ),
        (
            "http",
            raw(b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>"),
            "cannot reach kafka.internal:9092 (status 502 Bad Gateway)",
        ),
        (
            "http",
            raw(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n"),
            "as a web server does not (status 405 Method Not Allowed)",
        ),
        ("http", raw(b"HTTP/1.1 302 Found\r\nLocation: http://login\r\n\r\n"), "does not allow connections"),
        ("http", raw(b"HTTP/1.1 200 OK\r\n\r\nextra"), "sent more than its response"),
        ("http", raw(&[5, 0xff]), "it seems to speak SOCKS5; write socks5h://"),
        ("http", raw(&[0x15, 3, 3, 0, 2, 2, 40]), "it speaks TLS"),
        ("http", raw(b"HTTP/1.1 200"), "closed the connection during its handshake"),
    ] {
        let error = fails(scheme, "", proxy).await;
        assert!(error.message().contains(expected), "{expected}: {error}");
        assert!(error.message().starts_with(&format!("the proxy {scheme}://{proxy}: it")), "{error}");
        assert_eq!((error.kind(), error.context().phase), (Kind::Connection, Some(Phase::Proxy)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_hostile_proxy_costs_neither_memory_nor_time() {
    // Headers without an end.
    for endless in ["X: y\r\n", "x"] {
        let proxy = server(move |mut stream| async move {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
            while stream.write_all(endless.as_bytes()).await.is_ok() {}
        });
        let error = fails("http", "", proxy).await;
        let expected = "is longer than 16384 bytes or 64 headers";
        assert!(error.message().contains(expected), "{error}");
    }
    // A byte every second, and nothing at all.
    for pause in [1_000, 3_600_000] {
        let proxy = server(move |mut stream| async move {
            loop {
                tokio::time::sleep(ms(pause)).await;
                if stream.write_all(b"H").await.is_err() {
                    return;
                }
            }
        });
        let started = Instant::now();
        let error = fails("http", "", proxy).await;
        assert_took(started, ms(if pause == 1_000 { 1_000 } else { 10_000 }), ms(10_100));
        if pause != 1_000 {
            assert!(
                error.message().contains("no response within socket.connection.setup.timeout.ms"),
                "{error}"
            );
            assert_eq!(error.context().phase, Some(Phase::Proxy));
        }
    }
    // A good response byte by byte, cut anywhere.
    const REPLIES: &[u8] = &[5, 0, 5, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 35, 132];
    for cut in 0..REPLIES.len() {
        let proxy = server(move |mut stream| async move {
            for byte in &REPLIES[..cut] {
                let _ = stream.write_all(&[*byte]).await;
                tokio::task::yield_now().await;
            }
            // So that it is the end that the client reads, not an error of writing.
            let _ = stream.shutdown().await;
            let _ = stream.read(&mut [0; 512]).await;
        });
        let error = fails("socks5h", "", proxy).await;
        let expected = if cut < 2 { "closed the connection on the first" } else { "during its handshake" };
        assert!(error.message().contains(expected), "{cut}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_advertised_name_cannot_add_to_the_request() {
    let proxy = server_responding(b"HTTP/1.1 200 OK\r\n\r\n");
    let url = format!("http://{proxy}");
    let settings = Settings::try_from(&config("kafka:9092", &[("proxy.url", &url)])).unwrap();
    for host in ["kafka\r\nX: y", "kafka y", "käfka", ""] {
        let endpoint = Endpoint { host: host.to_owned(), port: 9092 };
        let environment = memory_environment();
        let connecting = connect(&endpoint, &settings, &environment, None);
        let error = within_deadline(connecting).await.expect_err("refused");
        assert!(error.message().contains("is not a name that can be sent to it"), "{error}");
        assert!(!error.message().contains('\n'));
    }
}

#[tokio::test]
async fn canonical_names_cannot_be_looked_up_behind_a_proxy() {
    let canonical = ("client.dns.lookup", "resolve_canonical_bootstrap_servers_only");
    let pairs = [("proxy.url", "socks5h://proxy:1080"), canonical];
    let error = Settings::try_from(&config("kafka:9092", &pairs)).expect_err("a contradiction");
    assert!(error.message().contains("remove one of the two keys"), "{error}");
    let without = [("proxy.url", "none"), canonical];
    assert!(Settings::try_from(&config("kafka:9092", &without)).is_ok());
    let wrong = Config::from_pairs([("proxy.url", Value::from("socks4://me:hunter2@proxy:1"))]).unwrap();
    let error = Settings::try_from(&wrong).expect_err("not supported");
    assert!(error.to_string().contains("SOCKS4") && !format!("{error:?}{wrong:?}").contains("hunter2"));
}

#[tokio::test(start_paused = true)]
async fn the_doctor_checks_the_proxy_as_a_step_of_its_own() {
    let cluster = cluster(1).await;
    let diagnose = async |scheme: &str, proxy: SocketAddr| {
        let config = config("kafka.internal:9092", &[("proxy.url", &format!("{scheme}://{proxy}"))]);
        let examining = examine(config, memory_environment(), Targets::default(), ms(20_000));
        within_deadline(examining).await.unwrap()
    };
    for scheme in ["socks5h", "http"] {
        let facts = diagnose(scheme, test_proxy(address(&cluster), None).address).await;
        let steps = &facts.bootstrap[0].addresses[0].steps;
        let checks: Vec<Check> = steps.iter().map(|step| step.check).collect();
        assert_eq!(checks, [Check::Tcp, Check::Proxy, Check::ApiVersions, Check::Metadata]);
        assert!(steps.iter().all(|step| step.failure.is_none()), "{steps:?}");
        assert_eq!(facts.brokers.len(), 3);
        for broker in &facts.brokers {
            let steps = &broker.endpoint.addresses[0].steps;
            assert!(steps.iter().all(|step| step.failure.is_none()), "{steps:?}");
        }
        let facts = diagnose(scheme, test_proxy(address(&cluster), Some(USER)).address).await;
        let failed = facts.bootstrap[0].addresses[0].steps.last().unwrap();
        assert_eq!(failed.check, Check::Proxy);
        assert_eq!(failed.failure.as_ref().unwrap().reason, Reason::ProxyCredentials);
    }
    // What listens behind the proxy is recognised as without one, not by what the proxy said.
    let web = server_responding(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    for (server, expected) in [(web, Reason::SpeaksHttp), (server(async |_| {}), Reason::Closed)] {
        let facts = diagnose("http", test_proxy(server, None).address).await;
        let failed = facts.bootstrap[0].addresses[0].steps.last().unwrap();
        assert_eq!(failed.check, Check::ApiVersions);
        assert_eq!(failed.failure.as_ref().unwrap().reason, expected);
    }
    for (reply, expected) in [
        (&b"HTTP/1.1 403 Forbidden\r\n\r\n"[..], Reason::ProxyRefused),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", Reason::ProxyCannotConnect),
        (b"SSH-2.0-OpenSSH\r\n", Reason::NotAProxy),
    ] {
        let facts = diagnose("http", server_responding(reply)).await;
        let failed = facts.bootstrap[0].addresses[0].steps.last().unwrap();
        assert_eq!((failed.check, failed.failure.as_ref().unwrap().reason), (Check::Proxy, expected));
    }
    let facts = diagnose("http", closed_port()).await;
    let failed = facts.bootstrap[0].addresses[0].steps.last().unwrap().clone();
    assert_eq!((failed.check, failed.failure.unwrap().reason), (Check::Tcp, Reason::ProxyUnreachable));
}
