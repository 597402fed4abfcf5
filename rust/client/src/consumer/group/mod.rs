//! Membership in a group of consumers.
//!
//! - `classic` and `consumer_protocol`: a member of either protocol, as state machines without I/O:
//!   they take the time and what came back, and give what to do.
//! - `machine`: what they have in common; `timers`, `refusal`: their clocks, and refusals in words.
//! - `change`: what the application has to do, in order.
//! - `driver`: the task that sends, waits and refreshes; `exchange`: one request; `strategy`: the
//!   assignors, on threads that may wait.
//!
//! Invariant: the member's heartbeats depend on no call of the application but one: that it polls at
//! least every `max.poll.interval.ms`.

pub mod classic;
pub mod consumer_protocol;
mod driver;
mod exchange;
mod machine;
mod rebalance_queue;
mod refusal;
mod settings;
mod subscription;
mod timers;
mod topics;

use std::pin::pin;
use std::sync::{Arc, OnceLock};

use ottla_protocol::ErrorCode;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant, timeout};

pub use machine::{Action, Answer, Ask, Assigned, Core, Machine, Topics};
pub use rebalance_queue::{Change, Desk};
pub use settings::GroupSettings;
pub use subscription::Subscription;

use self::classic::{Classic, Strategy};
use self::consumer_protocol::ConsumerProtocol;
use self::driver::{Shared, Wish, run};
use crate::cluster::Client;
use crate::config::GroupProtocol;
use crate::consumer::Member;
use crate::error::{Error, Kind, Result};
use crate::tasks::panics::catch;

/// A consumer's membership in its group. It ends without a word when it is dropped: leave first.
#[derive(Debug)]
pub struct Group {
    shared: Arc<Shared>,
    task: AbortHandle,
}

impl Drop for Group {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The application waits in a poll: the time between polls stands still as long as this is held.
#[derive(Debug)]
pub struct Polling<'a>(&'a Group);

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        self.0.shared.machine.lock().core().polls.exit(Instant::now());
    }
}

impl Group {
    /// A member that has not subscribed yet. Starts a task on the runtime that it is called on.
    #[must_use]
    pub fn start(client: Client, settings: GroupSettings) -> Self {
        let strategy = Strategy(settings.assignors.clone().into());
        let environment = client.inner.environment.clone();
        let machine: Box<dyn Machine> = match settings.protocol {
            GroupProtocol::Classic => {
                Box::new(Classic::new(settings.clone(), strategy.is_cooperative(), environment))
            }
            GroupProtocol::Consumer => {
                Box::new(ConsumerProtocol::new(settings.clone(), environment, Instant::now()))
            }
        };
        let shared = Arc::new(Shared {
            client,
            settings,
            strategy,
            machine: Mutex::new(machine),
            wish: Mutex::new(Wish::default()),
            wake: Notify::new(),
            changed: Notify::new(),
            died: OnceLock::new(),
        });
        let its = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            if let Err(died) = catch("the task of a group's member", run(Arc::clone(&its))).await {
                let _ = its.died.set(died);
                its.changed.notify_waiters();
            }
        });
        Self { shared, task: task.abort_handle() }
    }

    /// Subscribes, or subscribes to something else; the member joins or joins again by itself.
    pub fn subscribe(&self, subscription: Subscription) -> Result<()> {
        self.shared.settings.check(&subscription)?;
        let now = Instant::now();
        let mut wish = self.shared.wish.lock();
        match &subscription {
            Subscription::Topics(names) => {
                let topics = Topics { names: names.iter().cloned().collect(), regex: None };
                self.shared.machine.lock().subscribe(now, topics);
            }
            Subscription::Regex(regex) => {
                let topics = Topics { names: Default::default(), regex: Some(regex.clone()) };
                self.shared.machine.lock().subscribe(now, topics);
            }
            // The driver tells the member which topics that are, once it has seen them all.
            Subscription::Matching(_) => {}
        }
        wish.set(Some(subscription));
        self.shared.wake.notify_one();
        Ok(())
    }

    /// Gives everything up: that is a [`Change`] for the application, and when it is acknowledged the
    /// member leaves.
    pub fn unsubscribe(&self) {
        self.stop(|machine, now| machine.unsubscribe(now));
    }

    /// Leaves now, whatever the application still has to do, and waits until the coordinator was
    /// told. A static member of a classic group only goes silent, as in Java: its partitions wait for
    /// it for `session.timeout.ms`.
    pub async fn leave(&self, within: Duration) -> Result<()> {
        self.stop(|machine, now| machine.leave(now));
        let left = async {
            loop {
                let mut changed = pin!(self.shared.changed.notified());
                changed.as_mut().enable();
                if self.shared.died.get().is_some() || self.shared.machine.lock().is_idle() {
                    return;
                }
                changed.await;
            }
        };
        let left = timeout(within, left).await;
        if let Some(died) = self.shared.died.get() {
            return Err(died.clone());
        }
        left.map_err(|_| {
            let words = format!(
                "the coordinator of the group {} was not told in time that this member leaves: it will miss it after a while",
                self.shared.settings.group_id
            );
            Error::new(Kind::Timeout, words)
        })
    }

    fn stop(&self, how: impl FnOnce(&mut dyn Machine, Instant)) {
        // Under this lock, so that the driver cannot subscribe in between.
        let mut wish = self.shared.wish.lock();
        wish.set(None);
        how(&mut **self.shared.machine.lock(), Instant::now());
        self.shared.wake.notify_one();
    }

    /// What the application has to do next. The same until it is acknowledged; dropping the future
    /// loses nothing.
    pub async fn change(&self) -> Change {
        loop {
            self.changed().await;
            if let Some(change) = self.try_change() {
                return change;
            }
        }
    }

    /// Waits until there is something for the application to do, without taking it: until somebody
    /// does, it may be withdrawn.
    pub async fn changed(&self) {
        loop {
            let mut changed = pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            if self.shared.died.get().is_some() || !self.shared.machine.lock().core().desk.is_clear() {
                return;
            }
            changed.await;
        }
    }

    /// What the application has to do next, if there is anything.
    #[must_use]
    pub fn try_change(&self) -> Option<Change> {
        let change = self.shared.machine.lock().core().desk.take();
        // Nothing comes any more, and each poll says why.
        change.or_else(|| self.shared.died.get().cloned().map(Change::Failed))
    }

    /// The change that was taken is done: what was revoked is given up, what was assigned is taken up.
    pub fn acknowledge(&self) {
        self.shared.machine.lock().acknowledge(Instant::now());
        self.shared.wake.notify_one();
    }

    /// Who this member is, for what it commits.
    #[must_use]
    pub fn member(&self) -> Member {
        self.shared.machine.lock().member()
    }

    /// Why the member left its group without being asked to, if it did and is not back: the
    /// application did not poll in time.
    #[must_use]
    pub fn why_left(&self) -> Option<Arc<str>> {
        self.shared.machine.lock().core().why_left.clone()
    }

    /// The application polls, and waits there for as long as the result is held. From when it is
    /// dropped, `max.poll.interval.ms` counts.
    pub fn polling(&self) -> Polling<'_> {
        let now = Instant::now();
        let mut machine = self.shared.machine.lock();
        machine.core().polls.enter();
        if machine.polled(now) {
            self.shared.wake.notify_one();
        }
        Polling(self)
    }

    /// The application has polled: `max.poll.interval.ms` counts from now.
    pub fn polled(&self) {
        drop(self.polling());
    }

    /// What `sent_as` asked for elsewhere, a commit say, was refused with `code`. It is ignored if the
    /// member is another one by now.
    pub fn trouble(&self, sent_as: &Member, code: ErrorCode) {
        self.shared.machine.lock().trouble(Instant::now(), sent_as, code);
        self.shared.wake.notify_one();
    }
}
