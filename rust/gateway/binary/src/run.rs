//! Runs the gateway from its start until a signal, or for the given time.
//!
//! SIGHUP reads files and the configuration again.
//!
//! Invariant: once a signal has come, requests in flight get their responses before the program ends, unless another one
//! comes.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ottla_client::Kind;
use ottla_client::environment::Environment;
use ottla_gateway::monitoring::{AccessLog, Json, StatusServer, addresses};
use ottla_gateway::{FindBrokersError, Gateway};
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;
use tokio::time::MissedTickBehavior;

use crate::Failure;
use crate::cluster::ClusterOptions;
use crate::settings::Settings;

/// The time between two writes of the access log.
const LOG_INTERVAL: Duration = Duration::from_millis(200);
/// How long the last lines of the access log may take.
const LOG_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves until a signal comes, or for the given time.
pub(crate) fn run(settings: Settings) -> Result<(), Failure> {
    raise_descriptor_limit();
    let mut builder = Builder::new_multi_thread();
    if let Some(threads) = settings.threads {
        builder.worker_threads(threads);
    }
    let runtime = builder.enable_all().build().map_err(Failure::other)?;
    let served = runtime.block_on(serve(settings));
    // A lookup of a name may still block its thread.
    runtime.shutdown_timeout(Duration::ZERO);
    served
}

async fn serve(settings: Settings) -> Result<(), Failure> {
    // From now on, so that none ends the program without draining.
    let mut signals = Signals::new().map_err(Failure::other)?;
    if settings.gateway.allow_faults {
        tracing::warn!(target: "ottla.gateway", "this gateway allows faults: whoever reaches the address of --status can make it lose, delay and falsify what clients send and receive");
    }
    let gateway = Gateway::start(settings.gateway, Environment::default()).await.map_err(Failure::usage)?;
    let gateway = Arc::new(gateway);
    let access_log = settings.access_log.as_deref().map(|path| {
        let opened = AccessLog::open(&gateway, path);
        opened.map_err(|error| Failure::usage(format!("--access-log: {}: {error}", path.display())))
    });
    let log = Arc::new(access_log.transpose()?);
    let status = settings.status.map(|address| {
        let started = StatusServer::start(&gateway, address);
        started.map_err(|error| Failure::usage(format!("--status: cannot listen at {address}: {error}")))
    });
    let status = status.transpose()?;
    let serving = async {
        match gateway.find_brokers().await {
            Ok(()) => {}
            Err(FindBrokersError::Cluster(error)) if error.kind() != Kind::Config => {
                tracing::warn!(target: "ottla.gateway", %error, "the gateway knows no broker until a client has connected");
            }
            Err(error) => return Err(Failure::usage(error)),
        }
        let status = status.as_ref().map(StatusServer::address);
        print_addresses(&gateway, status, settings.as_json).map_err(Failure::other)?;
        match settings.end_after {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
        Ok(())
    };
    let mut serving = pin!(serving);
    let mut ticks = tokio::time::interval(LOG_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let cluster = Arc::new(settings.cluster);
    let result = loop {
        tokio::select! {
            result = &mut serving => break result,
            signal = signals.next() => match signal {
                Action::End => break Ok(()),
                Action::Reload => {
                    let (gateway, cluster, log) = (Arc::clone(&gateway), Arc::clone(&cluster), Arc::clone(&log));
                    blocking(move || reload(&gateway, &cluster, &log)).await;
                }
            },
            _ = ticks.tick() => {
                if let Some(log) = &*log {
                    log.write();
                }
            }
        }
    };
    let start = Instant::now();
    let cut_off = tokio::select! {
        cut_off = gateway.drain(settings.drain) => cut_off,
        () = signals.end() => gateway.drain(Duration::ZERO).await,
    };
    if cut_off > 0 {
        let after = start.elapsed().as_secs_f64();
        tracing::warn!(target: "ottla.gateway", connections = cut_off, "connections were cut off, after {after:.1} s");
    }
    // With those connections that have ended because the gateway does.
    finish(&log).await;
    result
}

/// The access log, if there is one.
type Log = Arc<Option<AccessLog>>;

/// Writes the connections that have ended, unless the reader of the log is too slow.
async fn finish(log: &Log) {
    let log = Arc::clone(log);
    blocking(move || {
        if let Some(log) = &*log
            && !log.flush(LOG_TIMEOUT)
        {
            tracing::warn!(target: "ottla.gateway", "the last connections are missing in the access log: its reader is too slow");
        }
    })
    .await;
}

/// Runs what waits for the file system on a thread that may wait.
async fn blocking(work: impl FnOnce() + Send + 'static) {
    // It fails only if it panics, which its thread has reported.
    _ = spawn_blocking(work).await;
}

/// Reads everything again that comes from files.
fn reload(gateway: &Gateway, cluster: &ClusterOptions, log: &Log) {
    let reloaded = cluster
        .read()
        .map_err(|failure| failure.message)
        .and_then(|config| gateway.reload(config).map_err(|error| error.to_string()));
    match reloaded {
        Ok(()) => tracing::info!(target: "ottla.gateway", "the configuration and all files were read again"),
        Err(why) => tracing::warn!(
            target: "ottla.gateway",
            "nothing was changed, since the configuration cannot be read again: {why}; correct it and send SIGHUP again"
        ),
    }
    if let Some(log) = &**log
        && let Err(error) = log.reopen()
    {
        tracing::warn!(target: "ottla.gateway", %error, "the access log cannot be opened again, and goes on in the file that is open; correct this and send SIGHUP again");
    }
}

fn print_addresses(gateway: &Gateway, status: Option<SocketAddr>, as_json: bool) -> io::Result<()> {
    let mut output = io::stdout().lock();
    if as_json {
        let mut document = addresses(gateway);
        if let Json::Object(fields) = &mut document {
            fields.push(("status".to_owned(), status.map(|address| address.to_string()).into()));
        }
        writeln!(output, "{}", document.indented())?;
    } else {
        writeln!(output, "ottla gateway: {}", gateway.bootstrap())?;
        for (id, address) in gateway.brokers() {
            writeln!(output, "  broker {id}: {address}")?;
        }
        if let Some(address) = status {
            writeln!(output, "  status: http://{address}/connections")?;
        }
    }
    output.flush()
}

/// Allows as many open files as this process may have: each connection needs two.
fn raise_descriptor_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let hard = getrlimit(Resource::Nofile).maximum;
        // macOS refuses a limit above its own, and then the present one stays.
        _ = setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard });
    }
}

/// What a signal asks for.
enum Action {
    End,
    #[cfg_attr(not(unix), expect(dead_code, reason = "no signal of Windows means this"))]
    Reload,
}

/// The signals that the program handles.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal.
    async fn next(&mut self) -> Action {
        tokio::select! {
            _ = self.interrupt.recv() => Action::End,
            _ = self.terminate.recv() => Action::End,
            _ = self.hang_up.recv() => Action::Reload,
        }
    }
}

impl Signals {
    /// Waits for a signal that ends the program.
    async fn end(&mut self) {
        while let Action::Reload = self.next().await {}
    }
}

/// The signals that the program handles.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for Ctrl-C.
    async fn next(&mut self) -> Action {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Action::End,
            Err(_) => std::future::pending().await,
        }
    }
}
