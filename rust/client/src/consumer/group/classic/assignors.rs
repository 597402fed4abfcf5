//! The assignors of a member: they add its protocols to JoinGroup requests, and assign if it leads the
//! group.
//!
//! Assignors may belong to the application, so they run on blocking threads.

use std::sync::Arc;

use ottla_protocol::messages::join_group::{JoinGroupRequestProtocol, JoinGroupResponseMember};
use tokio::time::timeout;

use crate::cluster::Client;
use crate::consumer::assignor::{
    self, Assignor, LastAssignment, MemberAssignment, MemberSubscription, Subscriptions,
};
use crate::consumer::group::membership_manager::LeaderAssignment;
use crate::error::{Error, Kind, Result};
use crate::metadata::TopicSelector;
use crate::tasks::blocking::run_blocking;

/// The assignors of a member, the preferred one first.
#[derive(Debug, Clone)]
pub(in crate::consumer::group) struct Assignors(pub(in crate::consumer::group) Arc<[Arc<dyn Assignor>]>);

impl Assignors {
    /// Whether members keep their partitions while they rejoin: every assignor must be cooperative.
    pub(in crate::consumer::group) fn is_cooperative(&self) -> bool {
        self.0.iter().all(|assignor| assignor.cooperative())
    }

    /// Builds one protocol for each assignor.
    pub(in crate::consumer::group) async fn protocols(
        &self,
        subscription: MemberSubscription,
        last_assignment: LastAssignment,
    ) -> Result<Vec<JoinGroupRequestProtocol>> {
        let assignors = Arc::clone(&self.0);
        run_blocking("an assignor", move || {
            let protocol = |assignor: &Arc<dyn Assignor>| {
                let user_data = assignor.user_data(&subscription.topics, &last_assignment);
                let with_user_data = MemberSubscription { user_data, ..subscription.clone() };
                let metadata = assignor::encode_subscription(&with_user_data)?;
                Ok(JoinGroupRequestProtocol { name: assignor.name().to_owned(), metadata })
            };
            assignors.iter().map(protocol).collect()
        })
        .await?
    }

    /// Assigns partitions to all members, as the leader.
    pub(in crate::consumer::group) async fn assign(
        &self,
        client: &Client,
        protocol: &str,
        members: &[JoinGroupResponseMember],
        skip_assignment: bool,
    ) -> Result<LeaderAssignment> {
        let subscriptions = Subscriptions::decode(members)?;
        let names = subscriptions.topics();
        let snapshot = client.snapshot();
        if names.iter().any(|name| snapshot.topic(name).is_none()) {
            // Topics still unknown after that are assigned in a later rebalance.
            let refreshed = client.refresh(snapshot.generation, TopicSelector::Topics(&names));
            if !matches!(timeout(client.config().request_timeout, refreshed).await, Ok(Ok(_))) {
                tracing::info!(target: "ottla.group", "assigning without metadata of some topics");
            }
        }
        let topics = assignor::topics(&client.snapshot(), &names);
        if skip_assignment {
            return Ok(LeaderAssignment { assignments: Vec::new(), names, topics });
        }
        let assignor = Arc::clone(self.by_name(protocol)?);
        run_blocking("an assignor", move || {
            let assignments = assignor::plan(&*assignor, &topics, &subscriptions)?;
            Ok(LeaderAssignment { assignments, names, topics })
        })
        .await?
    }

    /// Notifies an assignor of this member's assignment.
    pub(in crate::consumer::group) async fn notify_assignor(
        &self,
        protocol: &str,
        assignment: MemberAssignment,
        generation: i32,
    ) -> Result<()> {
        let assignor = Arc::clone(self.by_name(protocol)?);
        run_blocking("an assignor", move || {
            assignor.on_assignment(&assignment, generation);
            Ok(())
        })
        .await?
    }

    fn by_name(&self, name: &str) -> Result<&Arc<dyn Assignor>> {
        self.0.iter().find(|assignor| assignor.name() == name).ok_or_else(|| {
            let message = format!("the group chose the assignor {name:?}, which this member did not offer");
            Error::new(Kind::Protocol, message)
        })
    }
}
