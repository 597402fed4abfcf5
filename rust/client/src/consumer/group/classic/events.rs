//! The events of a classic member.

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::{ClassicMember, MemberState};
use crate::consumer::assignor;
use crate::consumer::group::membership_manager::{
    Action, Core, GroupResponse, MembershipManager, RequestFailure, SubscribedTopics,
};
use crate::consumer::group::rebalance_queue::RebalanceEvent;
use crate::error::recovery::{Recovery, recovery};
use crate::group_offsets::ConsumerGroupMetadata;
use crate::metadata::Snapshot;

impl MembershipManager for ClassicMember {
    fn subscribe(&mut self, now: Instant, topics: SubscribedTopics) {
        self.topics = topics.names;
        match self.state {
            MemberState::Unsubscribed | MemberState::Failed(_) => {
                self.state = MemberState::Unjoined;
                // Errors of the earlier subscription are outdated.
                self.core.events.withdraw_pending();
                self.core.backoff.reset();
                self.core.poll_timer.restart(now);
                self.request_rejoin("subscribed");
            }
            MemberState::Leaving { .. } => self.rejoin_after_leave = true,
            _ if self.joined_topics.as_ref().is_some_and(|joined| *joined != self.topics) => {
                self.request_rejoin("the subscription has changed");
            }
            _ => {}
        }
    }

    fn unsubscribe(&mut self, now: Instant) {
        self.start_leaving(now);
        // The application may ask for events before the driver runs.
        self.advance(now);
    }

    fn leave(&mut self, now: Instant) {
        self.leave_now(now);
    }

    fn on_poll(&mut self, now: Instant) -> bool {
        self.core.poll_timer.restart(now);
        match &mut self.state {
            MemberState::Stale => {
                self.state = MemberState::Unjoined;
                self.core.backoff.reset();
                self.request_rejoin("the application polls again");
            }
            MemberState::Failed(failure) if failure.reported && self.core.events.is_empty() => {
                if failure.permanent {
                    failure.reported = false;
                } else {
                    self.state = MemberState::Unjoined;
                    self.request_rejoin("retrying after an error");
                }
            }
            _ => return false,
        }
        true
    }

    fn complete_event(&mut self, now: Instant) {
        match self.core.events.complete() {
            Some(RebalanceEvent::Revoke(removed) | RebalanceEvent::Lost(removed)) => {
                for partition in &removed {
                    self.owned.remove(partition);
                }
            }
            Some(RebalanceEvent::Assign { all, .. }) => self.owned = all.into_iter().collect(),
            Some(RebalanceEvent::Failed(_)) | None => {}
        }
        self.advance(now);
    }

    fn report_error(&mut self, now: Instant, sent_as: &ConsumerGroupMetadata, code: ErrorCode) {
        if *sent_as != self.group_metadata() {
            return;
        }
        let is_about_member = match self.state {
            MemberState::Stable => recovery(code) == Recovery::Rejoin || code == ErrorCode::FencedInstanceId,
            // During a rebalance the coordinator rejects commits, which is no error of the member.
            MemberState::Assigning | MemberState::Syncing => {
                code != ErrorCode::RebalanceInProgress
                    && (recovery(code) == Recovery::Rejoin || code == ErrorCode::FencedInstanceId)
            }
            _ => false,
        };
        if recovery(code) == Recovery::FindCoordinator {
            self.core.find_coordinator();
        } else if is_about_member {
            self.handle_failure(now, RequestFailure::Code(code, None));
        }
    }

    fn update_metadata(&mut self, _now: Instant, snapshot: &Snapshot) {
        if let (MemberState::Stable, Some((names, topics))) = (&self.state, &self.assignment_snapshot)
            && self.rejoin_reason.is_none()
            && self.assignment_inputs(assignor::topics(snapshot, names)) != *topics
        {
            self.request_rejoin("the partitions of the group's topics have changed");
        }
    }

    fn process_response(&mut self, now: Instant, request_id: u64, response: GroupResponse) {
        if self.heartbeats.is_pending(request_id) {
            self.process_heartbeat(now, response);
        } else if request_id == self.request_id {
            self.process_joining(now, response);
        } else if matches!(self.state, MemberState::Leaving { request_id: Some(pending), .. } if pending == request_id)
        {
            self.process_leave(now, response);
        }
    }

    fn poll(&mut self, now: Instant) -> Vec<Action> {
        self.check_poll_timer(now);
        self.suspect_coordinator(now);
        self.advance(now);
        self.send_heartbeat_if_due(now);
        std::mem::take(&mut self.core.actions)
    }

    fn next_due(&self) -> Option<Instant> {
        let awaits_backoff = self.core.events.is_empty()
            && match self.state {
                MemberState::Unjoined | MemberState::Stable => self.rejoin_reason.is_some(),
                MemberState::Leaving { request_id, .. } => request_id.is_none(),
                _ => false,
            };
        let backoff = self.core.backoff.until().filter(|_| awaits_backoff);
        let poll_timeout = self.core.poll_timer.deadline().filter(|_| self.poll_required());
        [backoff, poll_timeout, self.heartbeats.next_due()].into_iter().flatten().min()
    }

    fn group_metadata(&self) -> ConsumerGroupMetadata {
        ConsumerGroupMetadata {
            group_id: Arc::clone(&self.core.settings.group_id),
            generation: self.generation,
            member_id: Arc::clone(&self.member_id),
            instance_id: self.core.settings.instance_id.clone(),
        }
    }

    fn topics(&self) -> Vec<Arc<str>> {
        let others = self.assignment_snapshot.iter().flat_map(|(names, _)| names).cloned();
        self.topics.iter().cloned().chain(others).collect()
    }

    fn is_idle(&self) -> bool {
        matches!(self.state, MemberState::Unsubscribed)
    }

    fn core(&mut self) -> &mut Core {
        &mut self.core
    }
}
