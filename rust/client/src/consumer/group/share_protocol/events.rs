//! The events of a member of a share group.

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::{MemberState, ShareMember};
use crate::consumer::group::membership_manager::{
    Action, Core, GroupResponse, MembershipManager, SubscribedTopics,
};
use crate::consumer::group::rebalance_queue::RebalanceEvent;
use crate::group_offsets::ConsumerGroupMetadata;
use crate::metadata::Snapshot;

impl MembershipManager for ShareMember {
    fn subscribe(&mut self, now: Instant, topics: SubscribedTopics) {
        self.topics = topics.names;
        match self.state {
            MemberState::Unsubscribed | MemberState::Failed(_) => {
                self.state = MemberState::Joining;
                // Errors of the earlier subscription are outdated.
                self.core.events.withdraw_pending();
                self.core.backoff.reset();
                self.core.poll_timer.restart(now);
                self.due = now;
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
        // After that its session has expired anyway: 45 s is the brokers' default, too.
        let until = now + self.core.settings.session_timeout;
        // A joining member may already be in the group.
        let known = self.should_heartbeat();
        self.reset_membership();
        self.state = MemberState::Leaving { request_id: None, until, known };
        self.core.backoff.reset();
    }

    fn leave(&mut self, now: Instant) {
        self.unsubscribe(now);
        self.core.events = Default::default();
    }

    fn on_poll(&mut self, now: Instant) -> bool {
        self.core.poll_timer.restart(now);
        match &mut self.state {
            MemberState::Stale => {
                self.core.backoff.reset();
                (self.state, self.due) = (MemberState::Joining, now);
            }
            MemberState::Failed(failure) if self.core.events.is_empty() => {
                if failure.permanent {
                    self.core.events.push(RebalanceEvent::Failed(failure.error.clone()));
                } else {
                    (self.state, self.due) = (MemberState::Joining, now);
                }
            }
            _ => return false,
        }
        true
    }

    fn complete_event(&mut self, _now: Instant) {
        self.core.events.complete();
    }

    fn report_error(&mut self, _now: Instant, _sent_as: &ConsumerGroupMetadata, _code: ErrorCode) {}

    fn update_metadata(&mut self, now: Instant, snapshot: &Snapshot) {
        let unknown = self.topic_names.unknown(self.target.iter().flatten());
        self.topic_names.learn(unknown, snapshot);
        self.report_assignment(now);
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
        self.report_assignment(now);
        self.send_leave_if_due(now);
        self.send_heartbeat_if_due(now);
        std::mem::take(&mut self.core.actions)
    }

    fn next_due(&self) -> Option<Instant> {
        let heartbeat = (self.should_heartbeat() && self.request_id.is_none()).then(|| self.due());
        let is_leaving = matches!(self.state, MemberState::Leaving { request_id: None, .. });
        let backoff = self.core.backoff.until().filter(|_| is_leaving);
        let poll_timeout = self.core.poll_timer.deadline().filter(|_| self.should_heartbeat());
        let lookup = self.topic_names.next_lookup().filter(|_| matches!(self.state, MemberState::Joined));
        [heartbeat, backoff, poll_timeout, lookup].into_iter().flatten().min()
    }

    fn group_metadata(&self) -> ConsumerGroupMetadata {
        ConsumerGroupMetadata {
            group_id: Arc::clone(&self.core.settings.group_id),
            generation: if self.epoch > 0 { self.epoch } else { -1 },
            member_id: Arc::clone(&self.member_id),
            instance_id: None,
        }
    }

    fn topics(&self) -> Vec<Arc<str>> {
        self.topic_names.with_subscribed(&self.topics, self.target.iter().flatten())
    }

    fn is_idle(&self) -> bool {
        matches!(self.state, MemberState::Unsubscribed)
    }

    fn core(&mut self) -> &mut Core {
        &mut self.core
    }
}
