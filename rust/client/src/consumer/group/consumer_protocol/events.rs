//! The events of a KIP-848 member.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::{ConsumerMember, MemberState, ReconcileStep};
use crate::consumer::group::membership_manager::{
    Action, Core, GroupResponse, MembershipManager, SubscribedTopics,
};
use crate::consumer::group::rebalance_queue::RebalanceEvent;
use crate::consumer::group::release_watch::Assigned;
use crate::error::recovery::{Recovery, recovery};
use crate::group_offsets::ConsumerGroupMetadata;
use crate::metadata::Snapshot;

impl MembershipManager for ConsumerMember {
    fn subscribe(&mut self, now: Instant, topics: SubscribedTopics) {
        self.topics = topics;
        match self.state {
            MemberState::Unsubscribed | MemberState::Failed(_) => {
                self.state = MemberState::Unjoined;
                // Errors of the earlier subscription are outdated.
                self.withdraw();
                self.core.backoff.reset();
                self.core.poll_timer.restart(now);
            }
            MemberState::Leaving { .. } => self.rejoin_after_leave = true,
            _ => {}
        }
    }

    fn unsubscribe(&mut self, now: Instant) {
        self.rejoin_after_leave = false;
        if matches!(self.state, MemberState::Unsubscribed | MemberState::Leaving { .. }) {
            return;
        }
        self.withdraw();
        // After that its session has expired anyway: 45 s is the brokers' default, too.
        let until = now + self.core.settings.session_timeout;
        // A joining member may already be in the group.
        let known = matches!(self.state, MemberState::Joining | MemberState::Joined);
        self.state = MemberState::Leaving { request_id: None, until, known };
        self.core.backoff.reset();
        // The application may ask for events before the driver runs.
        self.advance(now);
    }

    fn leave(&mut self, now: Instant) {
        self.unsubscribe(now);
        self.owned.clear();
        self.pending_step = None;
        self.core.events = Default::default();
    }

    fn on_poll(&mut self, now: Instant) -> bool {
        self.core.poll_timer.restart(now);
        match &mut self.state {
            MemberState::Stale => {
                self.state = MemberState::Unjoined;
                self.core.backoff.reset();
            }
            MemberState::Failed(failure) if failure.reported && self.core.events.is_empty() => {
                if failure.permanent {
                    failure.reported = false;
                } else {
                    self.state = MemberState::Unjoined;
                }
            }
            _ => return false,
        }
        true
    }

    fn complete_event(&mut self, now: Instant) {
        match self.core.events.complete() {
            None => return,
            Some(RebalanceEvent::Failed(_)) => {}
            Some(_) => match self.pending_step.take() {
                Some(ReconcileStep::Revoke(revoked)) => {
                    for partition in &revoked {
                        self.owned.remove(partition);
                    }
                }
                Some(ReconcileStep::Assign(all)) => self.owned = all.into_iter().collect::<BTreeSet<_>>(),
                None => {}
            },
        }
        self.advance(now);
    }

    fn report_error(&mut self, now: Instant, sent_as: &ConsumerGroupMetadata, code: ErrorCode) {
        if recovery(code) == Recovery::FindCoordinator {
            self.core.find_coordinator();
        } else if code == ErrorCode::StaleMemberEpoch {
            // The heartbeat response brings the epoch.
            self.due = now;
        } else if *sent_as == self.group_metadata() && matches!(self.state, MemberState::Joined) {
            let is_about_member = recovery(code) == Recovery::Rejoin || code == ErrorCode::FencedInstanceId;
            if is_about_member {
                self.handle_error_code(now, code, None);
            }
        }
    }

    fn update_metadata(&mut self, _now: Instant, snapshot: &Snapshot) {
        self.topic_names.learn(self.unresolved_topics(), snapshot);
    }

    fn process_response(&mut self, now: Instant, request_id: u64, response: GroupResponse) {
        if self.request_id == Some(request_id) {
            self.request_id = None;
            self.process_heartbeat(now, response);
        } else if matches!(self.state, MemberState::Leaving { request_id: Some(pending), .. } if pending == request_id)
        {
            self.process_leave(now, response);
        }
    }

    fn poll(&mut self, now: Instant) -> Vec<Action> {
        self.check_poll_timer(now);
        self.advance(now);
        self.send_heartbeat_if_due(now);
        std::mem::take(&mut self.core.actions)
    }

    fn next_due(&self) -> Option<Instant> {
        let heartbeat = (self.should_heartbeat() && self.request_id.is_none()).then(|| self.due());
        let is_leaving = matches!(self.state, MemberState::Leaving { request_id: None, .. })
            && self.core.events.is_empty();
        let backoff = self.core.backoff.until().filter(|_| is_leaving);
        let poll_timeout = self.core.poll_timer.deadline().filter(|_| self.poll_required());
        let unknown = matches!(self.state, MemberState::Joined) && !self.unresolved_topics().is_empty();
        let resolve = self.topic_names.next_lookup().filter(|_| unknown && self.core.events.is_empty());
        [heartbeat, backoff, poll_timeout, resolve].into_iter().flatten().min()
    }

    fn group_metadata(&self) -> ConsumerGroupMetadata {
        ConsumerGroupMetadata {
            group_id: Arc::clone(&self.core.settings.group_id),
            generation: if self.epoch > 0 { self.epoch } else { -1 },
            member_id: Arc::clone(&self.member_id),
            instance_id: self.core.settings.instance_id.clone(),
        }
    }

    fn topics(&self) -> Vec<Arc<str>> {
        self.topic_names.with_subscribed(&self.topics.names, self.target.iter().flatten())
    }

    fn assigned(&self) -> Option<Assigned<'_>> {
        let is_joined = matches!(self.state, MemberState::Joined);
        is_joined.then_some(Assigned { epoch: self.epoch, partitions: self.target.as_ref() })
    }

    fn is_idle(&self) -> bool {
        matches!(self.state, MemberState::Unsubscribed)
    }

    fn core(&mut self) -> &mut Core {
        &mut self.core
    }
}
