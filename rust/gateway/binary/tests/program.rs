//! The program as a container runs it: on the mock cluster, with signals and with arguments that cannot work.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ottla_client::config::Value;
use ottla_client::environment::Environment;
use ottla_client::{Client, Config};
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction};
use ottla_protocol::ApiKey;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;

const LONGEST: Duration = Duration::from_secs(60);

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ottla-gateway"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running program, which is killed when it is dropped.
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
    log: BufReader<ChildStderr>,
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut child = program(arguments).spawn().expect("a program");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let log = BufReader::new(child.stderr.take().expect("a pipe"));
        Self { child, output, log }
    }

    /// The document with the addresses.
    fn addresses(&mut self) -> Json {
        let mut text = String::new();
        while !text.ends_with("\n}\n") {
            assert!(self.output.read_line(&mut text).expect("read") > 0, "it ended: {text}");
        }
        serde_json::from_str(&text).expect("a document")
    }

    /// Reads the log until a line has this part; returns that line.
    fn log_line(&mut self, part: &str) -> String {
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            assert!(self.log.read_line(&mut line).expect("read") > 0, "it ended");
        }
        line
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).expect("signalled");
    }

    fn exit_code(&mut self) -> Option<i32> {
        let deadline = Instant::now() + LONGEST;
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status.code();
            }
            assert!(Instant::now() < deadline, "it goes on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

async fn brokers_behind(bootstrap: &str) -> Vec<String> {
    let config = Config::from_pairs([("bootstrap.servers", Value::from(bootstrap))]).unwrap();
    let client = Client::connect(config, Environment::default(), LONGEST).await.expect("a cluster");
    client.snapshot().brokers.values().map(|broker| broker.endpoint.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_reach_all_brokers_until_a_signal_comes() {
    let cluster = MockCluster::start(MockConfig::default()).await.expect("a cluster");
    for signal in [Signal::TERM, Signal::INT] {
        let servers = cluster.bootstrap();
        let mut running = Running::start(&[&servers, "--listen", "127.0.0.1:0", "--json", "--threads", "1"]);
        let addresses = running.addresses();
        let bootstrap = addresses["bootstrap"].as_str().unwrap();
        let brokers = addresses["brokers"].as_array().unwrap().iter();
        let expected: Vec<_> = brokers.map(|each| each["address"].as_str().unwrap().to_owned()).collect();
        assert_eq!(expected.len(), 3);
        assert_eq!(brokers_behind(bootstrap).await, expected);
        running.signal(signal);
        assert_eq!(running.exit_code(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_ends_after_a_given_time() {
    let cluster = MockCluster::start(MockConfig::default()).await.expect("a cluster");
    let servers = cluster.bootstrap();
    let run = program(&["-b", &servers, "--listen", "127.0.0.1:0", "--for", "0.01"]).output();
    let Output { status, stdout, stderr } = run.expect("a program");
    let (text, log) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success(), "{log}");
    assert!(text.starts_with("ottla gateway: 127.0.0.1:"), "{text}");
    assert!((1..=3).all(|broker| text.contains(&format!("\n  broker {broker}: 127.0.0.1:"))), "{text}");
    assert!(log.contains(" INFO ottla.gateway: the broker joined the cluster broker=1"), "{log}");
}

/// The status and the body of a response.
fn get(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("connected");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("read");
    let (head, body) = text.split_once("\r\n\r\n").expect("a response");
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_the_log_that_stalls_does_not_hold_up_the_end() {
    let cluster = MockCluster::start(MockConfig::default()).await.expect("a cluster");
    let servers = cluster.bootstrap();
    let arguments = ["--listen", "127.0.0.1:0", "--access-log", "-", "--json", "--drain", "0"];
    let mut running = Running::start(&[&[servers.as_str()], &arguments[..]].concat());
    let addresses = running.addresses();
    let bootstrap = addresses["bootstrap"].as_str().unwrap();
    // A pipe has room for 64 KiB, or for less.
    for _ in 0..300 {
        drop(TcpStream::connect(bootstrap).expect("connected"));
    }
    let deadline = Instant::now() + LONGEST;
    while rustix::io::ioctl_fionread(running.log.get_ref()).expect("a pipe") < 60_000 {
        assert!(Instant::now() < deadline, "the pipe is not full");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_cuts_the_drain_short_and_a_hang_up_does_not() {
    let cluster = MockCluster::start(MockConfig::default()).await.expect("a cluster");
    let servers = cluster.bootstrap();
    let access_log = TestFile::new("drained.jsonl", "");
    let mut running = Running::start(&[
        &servers,
        "--listen",
        "127.0.0.1:0",
        "--status",
        "127.0.0.1:0",
        "--access-log",
        access_log.path(),
        "--json",
        "--drain",
        "3600",
    ]);
    let addresses = running.addresses();
    let (bootstrap, status) =
        (addresses["bootstrap"].as_str().unwrap(), addresses["status"].as_str().unwrap());
    let fault = cluster.inject(Fault::once(Match::api(ApiKey::Metadata), Reaction::Delay(LONGEST * 60)));
    let config = Config::from_pairs([("bootstrap.servers", Value::from(bootstrap))]).unwrap();
    let asking = tokio::spawn(Client::connect(config, Environment::default(), LONGEST));
    let deadline = Instant::now() + LONGEST;
    while cluster.fault_hits(fault) == 0 {
        assert!(Instant::now() < deadline, "no request");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.signal(Signal::TERM);
    while get(status, "/ready").1 != "the gateway ends\n" {
        assert!(Instant::now() < deadline, "it does not drain");
    }
    running.signal(Signal::HUP);
    assert!(get(status, "/metrics").1.contains("kafka_gateway_requests_in_flight{} 1.0"));
    running.signal(Signal::INT);
    assert_eq!(running.exit_code(), Some(0));
    let text = std::fs::read_to_string(&access_log.0).expect("a log");
    assert!(text.contains("\"end\": \"it was cut off\""), "{text}");
    asking.abort();
}

/// A file that is deleted when it is dropped.
struct TestFile(PathBuf);

impl TestFile {
    fn new(name: &str, text: &str) -> Self {
        let file = Self(std::env::temp_dir().join(format!("ottla-gateway-{}-{name}", std::process::id())));
        file.write(text);
        file
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.0, text).expect("written");
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_up_reads_the_configuration_and_opens_the_log_again() {
    let large = MockCluster::start(MockConfig::default()).await.expect("a cluster");
    let small =
        MockCluster::start(MockConfig { brokers: 1, ..MockConfig::default() }).await.expect("a cluster");
    let settings = TestFile::new("reload.properties", &format!("bootstrap.servers={}\n", large.bootstrap()));
    let (access_log, older) = (TestFile::new("access.jsonl", ""), TestFile::new("access.jsonl.1", ""));
    let mut running = Running::start(&[
        "--listen",
        "127.0.0.1:0",
        "--status",
        "127.0.0.1:0",
        "--json",
        "--config",
        settings.path(),
        "--access-log",
        access_log.path(),
    ]);
    let addresses = running.addresses();
    let (bootstrap, status) =
        (addresses["bootstrap"].as_str().unwrap(), addresses["status"].as_str().unwrap());
    assert_eq!(get(status, "/ready"), ("HTTP/1.1 200 OK".to_owned(), "ready\n".to_owned()));
    assert!(get(status, "/metrics").1.contains("\nkafka_gateway_connections_accepted_total{} 0.0\n"));
    assert_eq!(brokers_behind(bootstrap).await.len(), 3);

    settings.write("bootstrap.servers=\nlinger.ms=soon\n");
    running.signal(Signal::HUP);
    let line = running.log_line("nothing was changed");
    assert!(line.contains("linger.ms") && line.contains("send SIGHUP again"), "{line}");
    assert_eq!(brokers_behind(bootstrap).await.len(), 3);

    settings.write(&format!("bootstrap.servers={}\n", small.bootstrap()));
    std::fs::rename(&access_log.0, &older.0).expect("renamed");
    running.signal(Signal::HUP);
    running.log_line("were read again");
    let deadline = Instant::now() + LONGEST;
    while brokers_behind(bootstrap).await.len() != 1 {
        assert!(Instant::now() < deadline, "the gateway serves the first cluster");
    }
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), Some(0));
    for file in [&older, &access_log] {
        let text = std::fs::read_to_string(&file.0).expect("a log");
        let first: Json = serde_json::from_str(text.lines().next().expect("a line")).expect("a document");
        assert!(first["requests"].is_object() && first["end"].is_string(), "{first}");
    }
}

#[test]
fn arguments_that_cannot_work() {
    for (arguments, part) in [
        (&["--no-such-option"][..], "--no-such-option"),
        (&[], "no broker address"),
        (&["kafka:1", "--bootstrap-controller", "kafka:2"], "give one of them"),
        (&["kafka:1", "-X", "secret"], "argument 1 of -X has no ="),
        (&["kafka:1", "-X", "no.such.key=secret"], "no.such.key"),
        (&["kafka:1", "--config", "/none.properties"], "--config /none.properties: "),
        (&["kafka:1", "--ports", "9-8"], "--ports: expected a range"),
        (&["kafka:1", "--ports", "1-2", "--sni", "{id}.x"], "cannot be used with"),
        (&["kafka:1", "--sni", "{id}.x"], "--tls-cert"),
        (&["kafka:1", "--sni", "{id}.x:9092"], "without a port"),
        (&["kafka:1", "--sni", "{id}.x", "--first-broker", "1"], "leave it out with --sni"),
        (&["kafka:1", "--first-broker", "99999999999"], "expected the id of a broker"),
        (&["kafka:1", "--first-broker", "1"], "--first-broker says which broker has the first"),
        (&["kafka:1", "--listen", "127.0.0.1:65535"], "no port follows 65535: give --ports"),
        (&["kafka:1", "--listen", "0.0.0.0:0"], "--advertise HOST"),
        (&["kafka:1", "--advertise", "0.0.0.0"], "is every address of this machine"),
        (&["kafka:1", "--advertise", "kafka gateway"], "expected a host name"),
        (&["kafka:1", "--tls-key", "key.pem"], "give --tls-cert"),
        (&["kafka:1", "--tls-cert", "/none.pem"], "/none.pem"),
        (&["kafka:1", "--reauthenticate", "10"], "--reauthenticate is about logins"),
        (&["kafka:1", "--allow-plaintext-passwords"], "--allow-plaintext-passwords is about logins"),
        (&["kafka:1", "--users", "/none.ini"], "/none.ini"),
        (&["kafka:1", "--connections", "0"], "expected a number of connections, 1 or more"),
        (&["kafka:1", "--setup-timeout", "nan"], "expected seconds, 0.001 or more"),
        (&["kafka:1", "--status", "localhost:1"], "--status: expected an IP address"),
        (&["kafka:1", "--status", "192.0.2.1:0"], "--status: cannot listen at 192.0.2.1:0"),
        (&["kafka:1", "--access-log", "/none/log"], "--access-log: /none/log: "),
        (&["kafka:1", "--threads", "0"], "expected a number of threads, 1 or more"),
        (&["kafka:1", "--log-level", "loud"], "expected error, warn, info, debug or trace"),
    ] {
        let mut all = arguments.to_vec();
        if !arguments.contains(&"--listen") {
            all.extend(["--listen", "127.0.0.1:0"]);
        }
        let run = program(&all).output().expect("a program");
        let error = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.code() == Some(2) && error.contains(part), "{arguments:?}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn an_error_is_json_as_in_all_commands() {
    let run = program(&["kafka:1", "--json", "--listen", "nowhere"]).output().expect("a program");
    let error: Json = serde_json::from_slice(&run.stderr).expect("a document");
    assert_eq!(error["severity"], "error");
    assert!(error["message"].as_str().unwrap().starts_with("--listen: expected an IP address"), "{error}");
}

#[test]
fn arguments_that_are_none_are_json_and_the_last_of_several_counts() {
    let run = program(&["kafka:1", "--json", "--no-such-option"]).output().expect("a program");
    assert_eq!(run.status.code(), Some(2));
    let error: Json = serde_json::from_slice(&run.stderr).expect("a document");
    assert_eq!(error["name"], "ArgumentError");
    assert!(error["message"].as_str().unwrap().contains("--no-such-option"), "{error}");
    let arguments = ["kafka:1", "--json", "--json", "--listen", "127.0.0.1:0", "--listen", "nowhere"];
    let run = program(&arguments).output().expect("a program");
    let error: Json = serde_json::from_slice(&run.stderr).expect("a document");
    assert!(error["message"].as_str().unwrap().starts_with("--listen: expected an IP address"), "{error}");
    let help = program(&["--help", "--json"]).output().expect("a program");
    assert!(help.status.success() && help.stderr.is_empty());
}
