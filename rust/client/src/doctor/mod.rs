//! The doctor's checks: probes every address of every server and broker, step by step, and records facts.
//!
//! It draws no conclusions: `python/ottla/doctor/verdict.py` derives the findings from the facts alone.
//! Invariants: every wait is bounded by the step's timeout and by the deadline; at most
//! `MAX_CONCURRENT_PROBES` addresses are probed at a time; nothing is written to the cluster, and no
//! topic is created.

mod address;
mod check;
mod coordinator;
mod dedicated_connection;
mod explain;
mod facts;
mod further_connections;
mod identity;
mod large_request;
mod leader;
mod log_dirs;
mod progress;
mod protocol_probe;
mod quorum;
mod recording_network;
mod release;
mod steps;
mod topics;
mod transactions;

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

pub use check::{Check, Phase, Reason};
pub use facts::{
    AddressFacts, ApiFacts, BrokerFacts, BrokerView, CoordinatorFacts, EndpointFacts, Facts, Failure,
    LogDirFacts, PartitionFacts, QuorumFacts, Step, TlsFacts, TopicFacts, View, VoterFacts,
};
pub use progress::{Progress, ProgressState};

use crate::cluster::bootstrap::parse;
use crate::config::Config;
use crate::connection::{Connection, Settings};
use crate::environment::Environment;
use crate::error::Result;
use crate::retry;
use crate::retry::persistent_failures::PersistentFailures;
use further_connections::BootstrapObservations;
use identity::ExpectedBroker;

/// How many addresses are probed at the same time.
const MAX_CONCURRENT_PROBES: usize = 16;
/// Brokers that are probed at most, whatever the metadata claims.
const MAX_BROKERS: usize = 10_000;
/// The number of consecutive steps without a response that the time suffices for.
const STEPS: u32 = 4;

/// What to check besides the connections.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    /// A topic of which every partition is checked; by default, one partition of each leader.
    pub topic: Option<String>,
    /// A group whose coordinator is checked.
    pub group: Option<String>,
}

/// What every probe shares.
#[derive(Debug)]
pub(crate) struct ProbeContext {
    settings: Settings,
    environment: Environment,
    deadline: Instant,
    /// How long one step may take.
    step_timeout: Duration,
    permits: Semaphore,
    /// Receives each check as it starts and ends.
    progress: Option<UnboundedSender<Progress>>,
}

impl ProbeContext {
    /// The deadline of a step that starts now.
    fn step_deadline(&self) -> Instant {
        (Instant::now() + self.step_timeout).min(self.deadline)
    }
}

/// Checks every step that a client with this configuration takes.
///
/// # Errors
/// The configuration is invalid. Every other failure is part of the facts.
pub async fn examine(
    config: Config,
    environment: Environment,
    targets: Targets,
    timeout: Duration,
) -> Result<Facts> {
    examine_with_progress(config, environment, targets, timeout, None).await
}

/// Checks every step as [`examine`] does, and sends each check as it starts and ends.
///
/// # Errors
/// The configuration is invalid. Every other failure is part of the facts.
pub async fn examine_with_progress(
    config: Config,
    environment: Environment,
    targets: Targets,
    timeout: Duration,
    progress: Option<UnboundedSender<Progress>>,
) -> Result<Facts> {
    let started = Instant::now();
    config.check_brokers("the doctor")?;
    let servers = parse(config.addresses())?;
    let mut settings = Settings::try_from(&config)?;
    // The report covers persistent failures.
    settings.failures = Arc::new(PersistentFailures::unreported());
    let probe = Arc::new(ProbeContext {
        settings,
        environment,
        deadline: retry::deadline(timeout),
        step_timeout: config.connection_setup_timeout.min(timeout / STEPS),
        permits: Semaphore::new(MAX_CONCURRENT_PROBES),
        progress,
    });
    let mut facts =
        Facts { security_protocol: config.security_protocol.name().to_owned(), ..Facts::default() };
    let probed = address::probe_all(&probe, servers.into_iter().map(|server| (server, None))).await;
    let mut connected = None;
    for (endpoint, connections) in probed {
        facts.bootstrap.push(endpoint);
        connected = connected.or(connections.into_iter().next());
    }
    // As for a client, the first server that returns metadata describes the cluster.
    let views = facts.bootstrap.iter().flat_map(|server| &server.addresses);
    facts.cluster = views.filter_map(|address| address.view.clone()).next();
    if let (Some(view), Some(connection)) = (facts.cluster.clone(), connected) {
        let quorum_server = quorum::find_server(&facts.bootstrap);
        let further = BootstrapObservations::start(&probe, &facts.bootstrap);
        // In parallel, because a quorum without a leader does not respond.
        let (quorum, ()) = tokio::join!(
            quorum::check(&probe, quorum_server),
            check_cluster(&probe, &view, &connection, &targets, &mut facts)
        );
        facts.quorum = quorum;
        further.finish(&mut facts.bootstrap).await;
    }
    facts.duration = started.elapsed();
    Ok(facts)
}

/// Checks the brokers at their advertised addresses, the partitions that they lead, and the coordinator.
async fn check_cluster(
    probe: &Arc<ProbeContext>,
    view: &View,
    connection: &Connection,
    targets: &Targets,
    facts: &mut Facts,
) {
    let topics = topics::fetch(probe, connection, targets.topic.as_deref()).await;
    facts.topics = Some(topics.facts);
    let ids: Arc<[i32]> = view.brokers.iter().map(|broker| broker.id).collect();
    let advertised = view.brokers.iter().take(MAX_BROKERS).map(|broker| {
        let all = Arc::clone(&ids);
        let expected = ExpectedBroker { id: broker.id, all, cluster_id: view.cluster_id.clone() };
        (broker.endpoint.clone(), Some(expected))
    });
    let probed = address::probe_all(probe, advertised).await;
    let (mut reached, mut leaders) = (Vec::new(), JoinSet::new());
    for (index, (broker, (endpoint, connections))) in view.brokers.iter().zip(probed).enumerate() {
        let led = topics.leaders.get(&broker.id).map_or(&[][..], |led| led);
        facts.brokers.push(BrokerFacts {
            id: broker.id,
            rack: broker.rack.clone(),
            leads: led.len(),
            replicas: topics.replicas.get(&broker.id).copied().unwrap_or(0),
            log_dirs: Vec::new(),
            endpoint,
            partitions: Vec::new(),
        });
        if let Some(connection) = connections.into_iter().next() {
            reached.push((broker.id, Arc::clone(&connection)));
            let (probe, chosen) = (Arc::clone(probe), leader::choose(led, targets.topic.is_some()));
            leaders.spawn(async move {
                let log_dirs = log_dirs::check(&probe, &connection).await;
                (index, log_dirs, leader::check(&probe, &connection, &chosen).await)
            });
        }
    }
    while let Some(joined) = leaders.join_next().await {
        if let Ok((index, log_dirs, partitions)) = joined
            && let Some(broker) = facts.brokers.get_mut(index)
        {
            (broker.log_dirs, broker.partitions) = (log_dirs, partitions);
        }
    }
    facts.open_transactions = transactions::check(probe, &reached, &topics.leaders).await;
    if let Some(group) = &targets.group {
        facts.coordinator = Some(coordinator::check(probe, group, connection, &reached).await);
    }
}
