//! What happens to a member, and what it does next.

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::{Classic, Phase};
use crate::consumer::Member;
use crate::consumer::assignor;
use crate::consumer::group::machine::{Action, Answer, Core, Machine, Refused, Topics};
use crate::consumer::group::rebalance_queue::Change;
use crate::metadata::Snapshot;
use crate::retry::recovery::{Recovery, recovery};

impl Machine for Classic {
    fn subscribe(&mut self, now: Instant, topics: Topics) {
        self.topics = topics.names;
        match self.phase {
            Phase::Idle | Phase::Failed(_) => {
                self.phase = Phase::Outside;
                // What went wrong before is not news any more.
                self.core.desk.withdraw();
                self.core.pause.reset();
                self.core.polls.restart(now);
                self.rejoin("subscribed");
            }
            Phase::Leaving { .. } => self.again = true,
            _ if self.joined.as_ref().is_some_and(|joined| *joined != self.topics) => {
                self.rejoin("the subscription has changed");
            }
            _ => {}
        }
    }

    fn unsubscribe(&mut self, now: Instant) {
        self.start_leaving(now);
        // The application may look at its desk before the driver has come by.
        self.advance(now);
    }

    fn leave(&mut self, now: Instant) {
        self.leave_now(now);
    }

    fn polled(&mut self, now: Instant) -> bool {
        self.core.polls.restart(now);
        match &mut self.phase {
            Phase::Away => {
                self.phase = Phase::Outside;
                self.core.pause.reset();
                self.rejoin("the application polls again");
            }
            Phase::Failed(failure) if failure.told && self.core.desk.is_clear() => {
                if failure.lasting {
                    failure.told = false;
                } else {
                    self.phase = Phase::Outside;
                    self.rejoin("to try again");
                }
            }
            _ => return false,
        }
        true
    }

    fn acknowledge(&mut self, now: Instant) {
        match self.core.desk.done() {
            Some(Change::Revoke(gone) | Change::Lost(gone)) => {
                for partition in &gone {
                    self.owned.remove(partition);
                }
            }
            Some(Change::Assign { all, .. }) => self.owned = all.into_iter().collect(),
            Some(Change::Failed(_)) | None => {}
        }
        self.advance(now);
    }

    fn trouble(&mut self, now: Instant, sent_as: &Member, code: ErrorCode) {
        if *sent_as != self.member() {
            return;
        }
        let about_me = match self.phase {
            Phase::Stable => recovery(code) == Recovery::Rejoin || code == ErrorCode::FencedInstanceId,
            // A group that is being made refuses commits, but nothing else is wrong with it.
            Phase::Assigning | Phase::Syncing => {
                code != ErrorCode::RebalanceInProgress
                    && (recovery(code) == Recovery::Rejoin || code == ErrorCode::FencedInstanceId)
            }
            _ => false,
        };
        if recovery(code) == Recovery::FindCoordinator {
            self.core.find_coordinator();
        } else if about_me {
            self.refused(now, Refused::Code(code, None));
        }
    }

    fn metadata(&mut self, _now: Instant, snapshot: &Snapshot) {
        if let (Phase::Stable, Some((names, topics))) = (&self.phase, &self.leads)
            && self.rejoin.is_none()
            && self.seen(assignor::topics(snapshot, names)) != *topics
        {
            self.rejoin("the partitions of the group's topics have changed");
        }
    }

    fn process(&mut self, now: Instant, ticket: u64, answer: Answer) {
        if self.beats.is_mine(ticket) {
            self.process_heartbeat(now, answer);
        } else if ticket == self.ticket {
            self.process_joining(now, answer);
        } else if matches!(self.phase, Phase::Leaving { ticket: Some(mine), .. } if mine == ticket) {
            self.process_leave(now, answer);
        }
    }

    fn poll(&mut self, now: Instant) -> Vec<Action> {
        self.check_polls(now);
        self.check_session(now);
        self.advance(now);
        self.beat(now);
        std::mem::take(&mut self.core.actions)
    }

    fn next(&self) -> Option<Instant> {
        let waits = self.core.desk.is_clear()
            && match self.phase {
                Phase::Outside | Phase::Stable => self.rejoin.is_some(),
                Phase::Leaving { ticket, .. } => ticket.is_none(),
                _ => false,
            };
        let pause = self.core.pause.until().filter(|_| waits);
        let polls = self.core.polls.deadline().filter(|_| self.must_poll());
        [pause, polls, self.beats.next()].into_iter().flatten().min()
    }

    fn member(&self) -> Member {
        Member {
            group_id: Arc::clone(&self.core.settings.group_id),
            generation: self.generation,
            member_id: Arc::clone(&self.member_id),
            instance_id: self.core.settings.instance_id.clone(),
        }
    }

    fn topics(&self) -> Vec<Arc<str>> {
        let others = self.leads.iter().flat_map(|(names, _)| names).cloned();
        self.topics.iter().cloned().chain(others).collect()
    }

    fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle)
    }

    fn core(&mut self) -> &mut Core {
        &mut self.core
    }
}
