//! The doctor's eyes: every address of every server and broker, phase by phase, into facts.
//!
//! Nothing is concluded here: what the facts mean, and what to do, is a pure function of them
//! (`python/ottla/doctor/verdict.py`). Invariants: every wait is bounded by the phase's time and by
//! the deadline; no more than `AT_ONCE` addresses are probed at a time; nothing is written to the
//! cluster and no topic comes to be by being looked at.

mod address;
mod check;
mod coordinator;
mod explain;
mod facts;
mod identity;
mod large_request;
mod leader;
mod log_dirs;
mod own_connection;
mod protocol_probe;
mod quorum;
mod recording_network;
mod release;
mod steps;
mod topics;

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

pub use check::{Check, Reason};
pub use facts::{
    AddressFacts, ApiFacts, BrokerFacts, BrokerView, CoordinatorFacts, EndpointFacts, Facts, Failure,
    LogDirFacts, PartitionFacts, QuorumFacts, Step, TlsFacts, TopicFacts, View, VoterFacts,
};

use crate::cluster::bootstrap::parse;
use crate::config::Config;
use crate::connection::{Connection, Settings};
use crate::environment::Environment;
use crate::error::Result;
use crate::retry;
use crate::retry::persistent_failures::PersistentFailures;
use identity::Expected;

/// How many addresses are probed at the same time.
const AT_ONCE: usize = 16;
/// No cluster has more brokers than this, whatever the metadata says.
const BROKERS: usize = 10_000;
/// The time is shared by so many steps that may follow one another, each of them silent.
const STEPS: u32 = 4;

/// What to look at besides the connections.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// A topic whose partitions are all looked at; otherwise one partition of each leader.
    pub topic: Option<String>,
    /// A group whose coordinator is looked for.
    pub group: Option<String>,
}

/// What every probe needs.
#[derive(Debug)]
pub(crate) struct Probe {
    settings: Settings,
    environment: Environment,
    deadline: Instant,
    /// How long one phase may take.
    step: Duration,
    slots: Semaphore,
}

impl Probe {
    /// The end of a phase that starts now.
    fn phase_end(&self) -> Instant {
        (Instant::now() + self.step).min(self.deadline)
    }
}

/// Looks at all that a client of this configuration would meet. An error means that the
/// configuration makes no sense; whatever else is wrong is in the facts.
pub async fn examine(
    config: Config,
    environment: Environment,
    question: Question,
    timeout: Duration,
) -> Result<Facts> {
    let started = Instant::now();
    let servers = parse(&config.bootstrap_servers)?;
    let mut settings = Settings::try_from(&config)?;
    // What takes long is in the report.
    settings.failures = Arc::new(PersistentFailures::unreported());
    let probe = Arc::new(Probe {
        settings,
        environment,
        deadline: retry::deadline(timeout),
        step: config.connection_setup_timeout.min(timeout / STEPS),
        slots: Semaphore::new(AT_ONCE),
    });
    let mut facts =
        Facts { security_protocol: config.security_protocol.name().to_owned(), ..Facts::default() };
    let probed = address::all(&probe, servers.into_iter().map(|server| (server, None))).await;
    let mut connected = None;
    for (endpoint, connections) in probed {
        facts.bootstrap.push(endpoint);
        connected = connected.or(connections.into_iter().next());
    }
    // The first server that tells its view of the cluster is believed, as by a client.
    let views = facts.bootstrap.iter().flat_map(|server| &server.addresses);
    facts.cluster = views.filter_map(|address| address.view.clone()).next();
    if let (Some(view), Some(connection)) = (facts.cluster.clone(), connected) {
        let bootstrap = facts.bootstrap.clone();
        // A quorum without a leader does not answer, which holds up nothing else.
        let (quorum, ()) = tokio::join!(
            quorum::look(&probe, &bootstrap),
            look_at_cluster(&probe, &view, &connection, &question, &mut facts)
        );
        facts.quorum = quorum;
    }
    facts.took = started.elapsed();
    Ok(facts)
}

/// Looks at the brokers where they say they are, at what they lead, and at the coordinator.
async fn look_at_cluster(
    probe: &Arc<Probe>,
    view: &View,
    connection: &Connection,
    question: &Question,
    facts: &mut Facts,
) {
    let topics = topics::look_up(probe, connection, question.topic.as_deref()).await;
    facts.topics = Some(topics.facts);
    let ids: Arc<[i32]> = view.brokers.iter().map(|broker| broker.id).collect();
    let advertised = view.brokers.iter().take(BROKERS).map(|broker| {
        let all = Arc::clone(&ids);
        let expected = Expected { id: broker.id, all, cluster_id: view.cluster_id.clone() };
        (broker.endpoint.clone(), Some(expected))
    });
    let probed = address::all(probe, advertised).await;
    let (mut reached, mut leaders) = (Vec::new(), JoinSet::new());
    for (place, (broker, (endpoint, connections))) in view.brokers.iter().zip(probed).enumerate() {
        let leads = topics.leaders.get(&broker.id).map_or(&[][..], |leads| leads);
        facts.brokers.push(BrokerFacts {
            id: broker.id,
            rack: broker.rack.clone(),
            leads: leads.len(),
            replicas: topics.replicas.get(&broker.id).copied().unwrap_or(0),
            log_dirs: Vec::new(),
            endpoint,
            partitions: Vec::new(),
        });
        if let Some(connection) = connections.into_iter().next() {
            reached.push((broker.id, Arc::clone(&connection)));
            let (probe, chosen) = (Arc::clone(probe), leader::choose(leads, question.topic.is_some()));
            leaders.spawn(async move {
                let log_dirs = log_dirs::look(&probe, &connection).await;
                (place, log_dirs, leader::look(&probe, &connection, &chosen).await)
            });
        }
    }
    while let Some(joined) = leaders.join_next().await {
        if let Ok((place, log_dirs, partitions)) = joined
            && let Some(broker) = facts.brokers.get_mut(place)
        {
            (broker.log_dirs, broker.partitions) = (log_dirs, partitions);
        }
    }
    if let Some(group) = &question.group {
        facts.coordinator = Some(coordinator::look(probe, group, connection, &reached).await);
    }
}
