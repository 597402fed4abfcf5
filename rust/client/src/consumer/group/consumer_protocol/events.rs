//! What happens to a member, and what it does next.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::{ConsumerProtocol, Phase, Step};
use crate::consumer::Member;
use crate::consumer::group::machine::{Action, Answer, Core, Machine, Topics};
use crate::consumer::group::rebalance_queue::Change;
use crate::metadata::Snapshot;
use crate::retry::recovery::{Recovery, recovery};

impl Machine for ConsumerProtocol {
    fn subscribe(&mut self, now: Instant, topics: Topics) {
        self.topics = topics;
        match self.phase {
            Phase::Idle | Phase::Failed(_) => {
                self.phase = Phase::Outside;
                // What went wrong before is not news any more.
                self.withdraw();
                self.core.pause.reset();
                self.core.polls.restart(now);
            }
            Phase::Leaving { .. } => self.again = true,
            _ => {}
        }
    }

    fn unsubscribe(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Idle | Phase::Leaving { .. }) {
            return;
        }
        self.withdraw();
        // After that it is not missed any more: 45 s, the brokers' own time for sessions as well.
        let until = now + self.core.settings.session_timeout;
        // Who joins may be in the group already, without knowing.
        let known = matches!(self.phase, Phase::Joining | Phase::Member);
        self.phase = Phase::Leaving { ticket: None, until, known };
        self.core.pause.reset();
        // The application may look at its desk before the driver has come by.
        self.advance(now);
    }

    fn leave(&mut self, now: Instant) {
        self.unsubscribe(now);
        self.owned.clear();
        (self.again, self.pending) = (false, None);
        self.core.desk = Default::default();
    }

    fn polled(&mut self, now: Instant) -> bool {
        self.core.polls.restart(now);
        match &mut self.phase {
            Phase::Away => {
                self.phase = Phase::Outside;
                self.core.pause.reset();
            }
            Phase::Failed(failure) if failure.told && self.core.desk.is_clear() => {
                if failure.lasting {
                    failure.told = false;
                } else {
                    self.phase = Phase::Outside;
                }
            }
            _ => return false,
        }
        true
    }

    fn acknowledge(&mut self, now: Instant) {
        match self.core.desk.done() {
            None => return,
            Some(Change::Failed(_)) => {}
            Some(_) => match self.pending.take() {
                Some(Step::GiveUp(gone)) => {
                    for partition in &gone {
                        self.owned.remove(partition);
                    }
                }
                Some(Step::Take(all)) => self.owned = all.into_iter().collect::<BTreeSet<_>>(),
                None => {}
            },
        }
        self.advance(now);
    }

    fn trouble(&mut self, now: Instant, sent_as: &Member, code: ErrorCode) {
        if recovery(code) == Recovery::FindCoordinator {
            self.core.find_coordinator();
        } else if code == ErrorCode::StaleMemberEpoch {
            // Its answer brings the epoch.
            self.due = now;
        } else if *sent_as == self.member() && matches!(self.phase, Phase::Member) {
            let about_me = recovery(code) == Recovery::Rejoin || code == ErrorCode::FencedInstanceId;
            if about_me {
                self.refused_with(now, code, None);
            }
        }
    }

    fn metadata(&mut self, _now: Instant, snapshot: &Snapshot) {
        for id in self.unresolved() {
            if let Some(name) = snapshot.topic_name(id) {
                self.names.insert(id, Arc::clone(name));
            }
        }
    }

    fn process(&mut self, now: Instant, ticket: u64, answer: Answer) {
        if self.ticket == Some(ticket) {
            self.ticket = None;
            self.process_heartbeat(now, answer);
        } else if matches!(self.phase, Phase::Leaving { ticket: Some(mine), .. } if mine == ticket) {
            self.process_leave(now, answer);
        }
    }

    fn poll(&mut self, now: Instant) -> Vec<Action> {
        self.check_polls(now);
        self.advance(now);
        self.beat(now);
        std::mem::take(&mut self.core.actions)
    }

    fn next(&self) -> Option<Instant> {
        let beat = (self.beats() && self.ticket.is_none()).then(|| self.due());
        let leaves = matches!(self.phase, Phase::Leaving { ticket: None, .. }) && self.core.desk.is_clear();
        let pause = self.core.pause.until().filter(|_| leaves);
        let polls = self.core.polls.deadline().filter(|_| self.must_poll());
        let unknown = matches!(self.phase, Phase::Member) && !self.unresolved().is_empty();
        let resolve = self.resolving.until().filter(|_| unknown && self.core.desk.is_clear());
        [beat, pause, polls, resolve].into_iter().flatten().min()
    }

    fn member(&self) -> Member {
        Member {
            group_id: Arc::clone(&self.core.settings.group_id),
            generation: if self.epoch > 0 { self.epoch } else { -1 },
            member_id: Arc::clone(&self.member_id),
            instance_id: self.core.settings.instance_id.clone(),
        }
    }

    fn topics(&self) -> Vec<Arc<str>> {
        let given = self.target.iter().flatten().filter_map(|(id, _)| self.names.get(id));
        let names: BTreeSet<&Arc<str>> = self.topics.names.iter().chain(given).collect();
        names.into_iter().cloned().collect()
    }

    fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle)
    }

    fn core(&mut self) -> &mut Core {
        &mut self.core
    }
}
