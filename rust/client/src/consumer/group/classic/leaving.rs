//! Leaving: LeaveGroup when the application has given everything up. A static member only goes
//! silent, so that it finds its partitions again when it comes back in time (KIP-345).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use tokio::time::Instant;

use super::{Classic, Phase};
use crate::consumer::group::machine::{Answer, Ask, Machine, Refused, Topics};

impl Classic {
    pub(super) fn start_leaving(&mut self, now: Instant) {
        if matches!(self.phase, Phase::Idle | Phase::Leaving { .. }) {
            return;
        }
        self.core.desk.withdraw();
        (self.rejoin, self.ticket) = (None, 0);
        // After that the coordinator has expelled it anyway.
        let until = now + self.core.settings.session_timeout;
        self.phase = Phase::Leaving { ticket: None, until };
        self.core.pause.reset();
    }

    pub(super) fn leave_now(&mut self, now: Instant) {
        self.start_leaving(now);
        self.owned.clear();
        self.again = false;
        self.core.desk = Default::default();
    }

    /// The request to leave; `None` for those who have nothing to leave, or do not.
    pub(super) fn leave_request(&self, reason: &str) -> Option<LeaveGroupRequest> {
        let settings = &self.core.settings;
        let member_id = (!self.member_id.is_empty()).then(|| self.member_id.to_string())?;
        if settings.instance_id.is_some() {
            return None;
        }
        let member = MemberIdentity {
            member_id: member_id.clone(),
            group_instance_id: None,
            reason: Some(reason.to_owned()),
        };
        Some(LeaveGroupRequest { group_id: settings.group_id.to_string(), member_id, members: vec![member] })
    }

    pub(super) fn send_leave(&mut self, now: Instant, until: Instant) {
        if !self.core.pause.is_over(now) {
            return;
        }
        match self.leave_request("the consumer is unsubscribed or closed").filter(|_| now < until) {
            Some(request) => {
                self.beats.stop();
                let ticket = Some(self.core.send(Ask::Leave(request)));
                self.phase = Phase::Leaving { ticket, until };
            }
            None => self.left(now),
        }
    }

    pub(super) fn process_leave(&mut self, now: Instant, answer: Answer) {
        let refused = match answer {
            Answer::Leave(response) => {
                let of_member = response.members.first().map_or(0, |member| member.error_code);
                let code = if response.error_code == 0 { of_member } else { response.error_code };
                match ErrorCode::from(code) {
                    ErrorCode::None => return self.left(now),
                    code => Refused::Code(code, None),
                }
            }
            Answer::Failed(error) => error.into(),
            _ => return,
        };
        if !self.core.leave_again(now, &refused) {
            return self.left(now);
        }
        if let Phase::Leaving { ticket, .. } = &mut self.phase {
            *ticket = None;
        }
    }

    fn left(&mut self, now: Instant) {
        tracing::debug!(target: "ottla.group", group = %self.core.settings.group_id, "left");
        self.forget_generation(false);
        self.joined = None;
        self.beats.stop();
        self.core.pause.reset();
        self.phase = Phase::Idle;
        if std::mem::take(&mut self.again) {
            let names = std::mem::take(&mut self.topics);
            self.subscribe(now, Topics { names, regex: None });
        }
    }
}
