//! Follows the cluster: asks for its brokers every few seconds, and at once when one cannot be reached.
//!
//! A cluster that requires SASL answers only if the gateway has credentials of its own; without them the gateway knows
//! the brokers that the responses to its clients have named.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ottla_client::Endpoint;
use ottla_client::connection::connect_unauthenticated;
use ottla_client::metadata::TopicSelector;
use tokio::time::{Instant, sleep, timeout};

use crate::events::{Event, EventKind};
use crate::loaded::Loaded;
use crate::shared::Shared;

/// The time between two requests.
const INTERVAL: Duration = Duration::from_secs(5);
/// The least time between two requests.
const PAUSE: Duration = Duration::from_millis(250);
/// How long a bootstrap server may take to tell its API versions.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) async fn follow(shared: Arc<Shared>) {
    let mut failing = false;
    let mut reloads = shared.reloads.subscribe();
    loop {
        let loaded = shared.loaded.load_full();
        let generation = loaded.client.snapshot().generation;
        let topics = match &shared.rules {
            Some(rules) if rules.limits_topics() => TopicSelector::All,
            _ => TopicSelector::Tracked,
        };
        let refreshed = tokio::select! {
            refreshed = loaded.client.refresh(generation, topics) => refreshed,
            // A server that does not answer may take long.
            Ok(()) = reloads.changed() => continue,
        };
        match refreshed {
            Ok(snapshot) => {
                let at = snapshot.brokers.iter().map(|(id, broker)| (*id, broker.endpoint.clone()));
                let brokers: BTreeMap<i32, Endpoint> = at.collect();
                for change in shared.brokers.replace(loaded.era, &brokers) {
                    shared.apply(&change);
                }
                for (id, at) in &brokers {
                    shared.advertise(loaded.era, *id, &at.host, at.port);
                }
                if let Some(rules) = &shared.rules {
                    snapshot.topics().for_each(|topic| rules.learn(topic.id, &topic.name));
                }
                if failing {
                    tracing::info!(target: "ottla.gateway", "the cluster answers again");
                    shared.events.push(Event::new(EventKind::ClusterFound));
                }
                failing = false;
            }
            // The client was closed by a reload.
            Err(_) if !Arc::ptr_eq(&loaded, &shared.loaded.load()) => continue,
            Err(error) if !failing => {
                look_for_answer(&shared, &loaded).await;
                tracing::warn!(target: "ottla.gateway", %error, "the cluster cannot be asked for its brokers: the gateway knows those that it has seen in responses");
                shared.events.push(Event::new(EventKind::ClusterLost).detail(error));
                failing = true;
            }
            Err(_) => look_for_answer(&shared, &loaded).await,
        }
        sleep(PAUSE).await;
        _ = timeout(INTERVAL, shared.refresh.notified()).await;
    }
}

/// Sees whether any bootstrap server talks to the gateway, if no broker is known: then clients, who have credentials, can
/// connect through it, and name the brokers that way.
async fn look_for_answer(shared: &Shared, loaded: &Loaded) {
    if !shared.brokers.current().is_empty() {
        return;
    }
    let mut answers = false;
    for server in loaded.client.servers() {
        let deadline = Some(Instant::now() + ANSWER_TIMEOUT);
        let connected = connect_unauthenticated(server, &loaded.settings, &shared.environment, deadline);
        if connected.await.is_ok() {
            answers = true;
            break;
        }
    }
    shared.answers.store(answers, Ordering::Relaxed);
}
