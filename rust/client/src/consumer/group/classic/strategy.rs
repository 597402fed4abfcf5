//! The assignors of a member: what it offers the group, and its part when it leads the group.
//!
//! Assignors may be the application's own, so they run on threads that may wait.

use std::sync::Arc;

use ottla_protocol::messages::join_group::{JoinGroupRequestProtocol, JoinGroupResponseMember};
use tokio::time::timeout;

use crate::cluster::Client;
use crate::consumer::assignor::{
    self, Assignor, LastAssignment, MemberAssignment, MemberSubscription, Subscriptions,
};
use crate::consumer::group::machine::Assigned;
use crate::error::{Error, Kind, Result};
use crate::metadata::TopicSelector;
use crate::tasks::blocking::run_blocking;

/// The assignors of a member, the preferred first.
#[derive(Debug, Clone)]
pub(in crate::consumer::group) struct Strategy(pub(in crate::consumer::group) Arc<[Arc<dyn Assignor>]>);

impl Strategy {
    /// Whether members keep what they own while they join again: all assignors have to know that.
    pub(in crate::consumer::group) fn is_cooperative(&self) -> bool {
        self.0.iter().all(|assignor| assignor.cooperative())
    }

    /// One protocol for each assignor.
    pub(in crate::consumer::group) async fn protocols(
        &self,
        subscription: MemberSubscription,
        last: LastAssignment,
    ) -> Result<Vec<JoinGroupRequestProtocol>> {
        let assignors = Arc::clone(&self.0);
        run_blocking("an assignor", move || {
            let protocol = |assignor: &Arc<dyn Assignor>| {
                let user_data = assignor.user_data(&subscription.topics, &last);
                let told = MemberSubscription { user_data, ..subscription.clone() };
                let metadata = assignor::encode_subscription(&told)?;
                Ok(JoinGroupRequestProtocol { name: assignor.name().to_owned(), metadata })
            };
            assignors.iter().map(protocol).collect()
        })
        .await?
    }

    /// The assignment of all members, as the leader makes it.
    pub(in crate::consumer::group) async fn assign(
        &self,
        client: &Client,
        protocol: &str,
        members: &[JoinGroupResponseMember],
        skip: bool,
    ) -> Result<Assigned> {
        let subscriptions = Subscriptions::decode(members)?;
        let names = subscriptions.topics();
        let snapshot = client.snapshot();
        if names.iter().any(|name| snapshot.topic(name).is_none()) {
            // What is still unknown then is assigned when it is known.
            let refreshed = client.refresh(snapshot.generation, TopicSelector::Topics(&names));
            if !matches!(timeout(client.config().request_timeout, refreshed).await, Ok(Ok(_))) {
                tracing::info!(target: "ottla.group", "assigning by what is known of the topics");
            }
        }
        let topics = assignor::topics(&client.snapshot(), &names);
        if skip {
            return Ok(Assigned { assignments: Vec::new(), names, topics });
        }
        let assignor = Arc::clone(self.named(protocol)?);
        run_blocking("an assignor", move || {
            let assignments = assignor::plan(&*assignor, &topics, &subscriptions)?;
            Ok(Assigned { assignments, names, topics })
        })
        .await?
    }

    /// Tells an assignor what this member was given.
    pub(in crate::consumer::group) async fn tell(
        &self,
        protocol: &str,
        assignment: MemberAssignment,
        generation: i32,
    ) -> Result<()> {
        let assignor = Arc::clone(self.named(protocol)?);
        run_blocking("an assignor", move || {
            assignor.on_assignment(&assignment, generation);
            Ok(())
        })
        .await?
    }

    fn named(&self, name: &str) -> Result<&Arc<dyn Assignor>> {
        self.0.iter().find(|assignor| assignor.name() == name).ok_or_else(|| {
            let words =
                format!("the group has agreed on the assignor {name:?}, which this member has not offered");
            Error::new(Kind::Protocol, words)
        })
    }
}
