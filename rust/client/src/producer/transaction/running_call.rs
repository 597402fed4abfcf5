//! The calls that run in tasks of their own: initializing, committing and aborting.
//!
//! Invariants: one such call runs at a time. A caller that gives up, because of a timeout or a cancelled
//! future, does not end it: repeating the call waits for the same outcome, so that it is never guessed.

use std::future::Future;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::state::TransactionResult;
use crate::error::{Error, Kind, Result};
use crate::tasks::panics::try_catch;

/// A call that runs in a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Init,
    End(TransactionResult),
}

impl Call {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Init => "init_transactions",
            Self::End(result) => result.call(),
        }
    }
}

#[derive(Debug)]
struct RunningCall {
    call: Call,
    outcome: watch::Receiver<Option<Result<()>>>,
    task: AbortHandle,
}

/// The running call, or one whose outcome nobody has received yet.
#[derive(Debug, Default)]
pub(super) struct RunningCalls(Mutex<Option<RunningCall>>);

impl RunningCalls {
    /// Waits for a call of this kind that runs already, or starts one: `prepare` checks and changes the
    /// state, and the future that it returns does the work.
    pub(super) async fn run<F>(
        &self,
        call: Call,
        deadline: Instant,
        prepare: impl FnOnce() -> Result<F>,
    ) -> Result<()>
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let mut outcome = {
            let mut running = self.0.lock();
            match &*running {
                Some(known) if known.call == call => known.outcome.clone(),
                _ => {
                    let work = prepare()?;
                    let (sender, outcome) = watch::channel(None);
                    let task = tokio::spawn(async move {
                        let result = try_catch(call.name(), work).await;
                        sender.send_replace(Some(result));
                    });
                    *running =
                        Some(RunningCall { call, outcome: outcome.clone(), task: task.abort_handle() });
                    outcome
                }
            }
        };
        let began = Instant::now();
        let Ok(done) = timeout_at(deadline, outcome.wait_for(Option::is_some)).await else {
            let millis = deadline.saturating_duration_since(began).as_millis();
            let message = format!(
                "{} did not finish within {millis} ms and continues: call it again to wait for its outcome",
                call.name()
            );
            return Err(Error::new(Kind::Timeout, message));
        };
        let result = match done {
            Ok(result) => result.clone(),
            Err(_) => None,
        };
        // The outcome is delivered, so the next call of this kind sends a new request.
        self.0.lock().take_if(|known| known.call == call && known.outcome.borrow().is_some());
        result.unwrap_or_else(|| Err(super::super::errors::closed()))
    }

    /// Waits for the running call, if there is one.
    pub(super) async fn wait(&self, deadline: Instant) {
        let outcome = self.0.lock().as_ref().map(|running| running.outcome.clone());
        if let Some(mut outcome) = outcome {
            let _ = timeout_at(deadline, outcome.wait_for(Option::is_some)).await;
        }
    }

    /// Ends the running call without an outcome.
    pub(super) fn abort(&self) {
        if let Some(running) = &*self.0.lock() {
            running.task.abort();
        }
    }
}
