//! What a member does about refusals, and how it leaves.

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::{ConsumerProtocol, Phase};
use crate::consumer::group::machine::{Answer, Machine, Refused};
use crate::consumer::group::refusal::{Failure, refusal};
use crate::error::Error;
use crate::retry::recovery::{Recovery, recovery};

impl ConsumerProtocol {
    pub(super) fn refused(&mut self, now: Instant, refused: Refused) {
        match refused {
            Refused::Code(code, message) => self.refused_with(now, code, message),
            Refused::Unreached(error) => {
                tracing::debug!(target: "ottla.group", group = %self.core.settings.group_id, %error, "no answer from the coordinator");
                self.core.find_coordinator();
                self.beat_later(now);
            }
            Refused::Hopeless(error) => self.fail(error),
        }
    }

    pub(super) fn refused_with(&mut self, now: Instant, code: ErrorCode, message: Option<String>) {
        match recovery(code) {
            Recovery::FindCoordinator => {
                self.core.find_coordinator();
                self.beat_later(now);
            }
            // The coordinator is the right one, and will be ready soon.
            Recovery::Backoff | Recovery::Refresh => self.beat_later(now),
            Recovery::Rejoin | Recovery::AwaitEpoch => {
                tracing::info!(target: "ottla.group", group = %self.core.settings.group_id, epoch = self.epoch, code = code.name(), "thrown out of the group");
                self.step_out();
                if !matches!(self.phase, Phase::Leaving { .. }) {
                    self.phase = Phase::Outside;
                    self.core.again(now);
                }
            }
            _ => self.fail(refusal(&self.core.settings, code, message.as_deref())),
        }
    }

    fn beat_later(&mut self, now: Instant) {
        self.core.wait(now);
        self.due = self.core.pause.until().unwrap_or(now);
    }

    /// Not in the group, for a reason that is the application's matter.
    fn fail(&mut self, error: Error) {
        tracing::warn!(target: "ottla.group", group = %self.core.settings.group_id, %error, "this member is not in its group");
        self.step_out();
        if !matches!(self.phase, Phase::Leaving { .. }) {
            self.phase = Phase::Failed(Failure::new(error));
        }
    }

    /// Tells the coordinator, if it may know of this member and if that is still of use to it.
    pub(super) fn send_leave(&mut self, now: Instant) {
        let Phase::Leaving { until, known, .. } = self.phase else { return };
        if !self.core.pause.is_over(now) {
            return;
        }
        if !known || until <= now {
            return self.left(now);
        }
        let ask = self.leave_request();
        let ticket = Some(self.core.send(ask));
        self.phase = Phase::Leaving { ticket, until, known };
    }

    pub(super) fn process_leave(&mut self, now: Instant, answer: Answer) {
        let refused = match answer {
            Answer::ConsumerHeartbeat(response) => match ErrorCode::from(response.error_code) {
                ErrorCode::None => return self.left(now),
                code => Refused::Code(code, response.error_message),
            },
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
        self.step_out();
        self.core.pause.reset();
        self.phase = Phase::Idle;
        if std::mem::take(&mut self.again) {
            let topics = std::mem::take(&mut self.topics);
            self.subscribe(now, topics);
        }
    }
}
