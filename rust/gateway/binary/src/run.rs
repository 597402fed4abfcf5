//! Runs the gateway from its start until a signal, or for the given time.
//!
//! Invariant: once a signal has come, requests in flight get their responses before the program ends.

use std::io::{self, Write as _};
use std::time::Duration;

use ottla_client::Kind;
use ottla_client::environment::Environment;
use ottla_gateway::{FindBrokersError, Gateway};
use serde_json::json;
use tokio::runtime::Builder;

use crate::Failure;
use crate::settings::Settings;

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
    let gateway = Gateway::start(settings.gateway, Environment::default()).await.map_err(Failure::usage)?;
    let serving = async {
        match gateway.find_brokers().await {
            Ok(()) => {}
            Err(FindBrokersError::Cluster(error)) if error.kind() != Kind::Config => {
                tracing::warn!(target: "ottla.gateway", %error, "the gateway knows no broker until a client has connected");
            }
            Err(error) => return Err(Failure::usage(error)),
        }
        print_addresses(&gateway, settings.as_json).map_err(Failure::other)?;
        match settings.end_after {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
        Ok(())
    };
    let result = tokio::select! {
        result = serving => result,
        () = signals.ended() => Ok(()),
    };
    let cut_off = gateway.drain(settings.drain).await;
    if cut_off > 0 {
        let after = settings.drain.as_secs_f64();
        tracing::warn!(target: "ottla.gateway", connections = cut_off, "connections were cut off, after {after} s");
    }
    result
}

fn print_addresses(gateway: &Gateway, as_json: bool) -> io::Result<()> {
    let (bootstrap, brokers) = (gateway.bootstrap().to_string(), gateway.brokers());
    let mut output = io::stdout().lock();
    if as_json {
        let brokers: Vec<_> =
            brokers.iter().map(|(id, address)| json!({"id": id, "address": address.to_string()})).collect();
        let document = json!({"bootstrap": bootstrap, "brokers": brokers, "status": null});
        writeln!(output, "{document:#}")?;
    } else {
        writeln!(output, "ottla gateway: {bootstrap}")?;
        for (id, address) in brokers {
            writeln!(output, "  broker {id}: {address}")?;
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

/// The signals that end the program.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for a signal.
    async fn ended(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The signals that end the program.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for Ctrl-C.
    async fn ended(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
