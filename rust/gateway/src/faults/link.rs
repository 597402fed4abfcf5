//! [`Link`]: a session's connections as far as faults make them slow, freeze or cut them.
//!
//! Invariants: a fault that is removed has no effect from the next byte on, and none holds up a gateway that stops. Without faults, each look is one at an
//! atomic. Whoever waits here waits for a time or for the removal of a fault; there is no polling.

use std::io;
use std::num::NonZeroU64;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use ottla_faults::{FaultId, Hit, Match, Reaction};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::sleep;

use super::pace::Pace;
use super::presence::Presence;
use super::{Faults, record};
use crate::events::Events;
use crate::session::SessionStatus;

/// A direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Toward {
    Broker,
    Client,
}

/// What faults do to the connections of a session.
#[derive(Debug)]
pub(crate) struct Link {
    faults: Option<Arc<Faults>>,
    /// Whether the gateway stops.
    draining: watch::Receiver<bool>,
    /// Whether the client is still there; `None` without faults.
    client: Option<Presence>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The faults that the link has had.
    ids: Vec<FaultId>,
    /// The bytes of responses until the connection is cut.
    cut: Option<(FaultId, u64)>,
    slow: Option<(FaultId, NonZeroU64)>,
    paces: [Pace; 2],
    /// The removals after which `cut` and `slow` were looked at.
    removals: u64,
}

impl Faults {
    /// The fault that freezes the connections of a broker; `None` for the bootstrap address.
    fn freezes(&self, broker: Option<i32>) -> Option<FaultId> {
        freezing(&self.frozen.borrow(), broker)
    }

    /// Waits until no fault freezes the connections of a broker.
    pub(crate) async fn thawed(&self, broker: Option<i32>) {
        let mut frozen = self.frozen.subscribe();
        _ = frozen.wait_for(|frozen| freezing(frozen, broker).is_none()).await;
    }
}

fn freezing(frozen: &[(FaultId, Option<i32>)], broker: Option<i32>) -> Option<FaultId> {
    frozen.iter().find(|(_, of)| of.is_none() || *of == broker).map(|(id, _)| *id)
}

impl Link {
    pub(crate) fn new(
        faults: Option<&Arc<Faults>>,
        draining: watch::Receiver<bool>,
        client: Option<Presence>,
    ) -> Self {
        Self { faults: faults.cloned(), draining, client, state: Mutex::default() }
    }

    fn active(&self) -> Option<&Arc<Faults>> {
        self.faults.as_ref().filter(|faults| faults.is_active())
    }

    /// The faults that may hold up bytes.
    fn holding(&self) -> Option<&Arc<Faults>> {
        self.active().filter(|_| !self.is_draining())
    }

    pub(super) fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Waits until the gateway stops.
    pub(super) async fn drained(&self) {
        _ = self.draining.clone().wait_for(|draining| *draining).await;
    }

    /// The faults that the link has had.
    pub(super) fn faults(&self) -> Vec<FaultId> {
        self.state.lock().ids.clone()
    }

    /// Cuts the connection after this many bytes of responses.
    pub(super) fn cut_after(&self, id: FaultId, bytes: u64) {
        let mut state = self.state.lock();
        state.ids.push(id);
        let sooner = state.cut.is_none_or(|(_, left)| bytes < left);
        if sooner {
            state.cut = Some((id, bytes));
        }
    }

    /// Moves this many bytes a second at most.
    pub(super) fn slow_down(&self, id: FaultId, rate: NonZeroU64) {
        let mut state = self.state.lock();
        state.ids.push(id);
        state.slow = Some((id, rate));
    }

    /// The rate of the link.
    fn rate(&self) -> Option<NonZeroU64> {
        let faults = self.holding()?;
        let mut state = self.state.lock();
        state.forget_removed(faults);
        state.slow.map(|(_, rate)| rate)
    }

    /// How many bytes to read at most.
    pub(crate) fn read_max(&self) -> usize {
        self.rate().map_or(usize::MAX, Pace::step)
    }

    /// Waits as long as these bytes take on a slow link, or until it is not slow any more.
    pub(crate) async fn moved(&self, bytes: usize, toward: Toward) {
        let Some(mut removals) = self.holding().map(|faults| faults.removals.subscribe()) else { return };
        let Some(rate) = self.rate() else { return };
        let wait = {
            let paces = &mut self.state.lock().paces;
            let [to_broker, to_client] = paces;
            let pace = if toward == Toward::Broker { to_broker } else { to_client };
            pace.wait(rate, bytes, Instant::now())
        };
        let mut waiting = pin!(sleep(wait));
        while self.rate().is_some() {
            tokio::select! {
                () = &mut waiting => return,
                _ = removals.changed() => {}
                () = self.drained() => {}
            }
        }
    }

    /// Whether a fault freezes the link.
    pub(crate) fn is_frozen(&self, status: &SessionStatus) -> bool {
        self.holding().is_some_and(|faults| faults.freezes(status.broker()).is_some())
    }

    /// Waits until no fault freezes the link; an error if the client leaves before.
    pub(crate) async fn thawed(&self, status: &SessionStatus, events: &Events) -> io::Result<()> {
        let Some(faults) = self.holding() else { return Ok(()) };
        let Some(id) = faults.freezes(status.broker()) else { return Ok(()) };
        let is_new = {
            let mut state = self.state.lock();
            let is_new = !state.ids.contains(&id);
            if is_new {
                state.ids.push(id);
            }
            is_new
        };
        if is_new {
            faults.registry.lock().count_hit(id);
            record(&Hit { id, on: Match::any(), then: Reaction::Freeze }, None, status, events);
        }
        let left = async {
            match &self.client {
                Some(client) => client.left().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = faults.thawed(status.broker()) => Ok(()),
            () = self.drained() => Ok(()),
            () = left => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "closed while a fault froze it")),
        }
    }

    /// How many of these bytes of responses are sent before the connection is cut; all if it is not.
    pub(crate) fn before_cut(&self, bytes: usize) -> usize {
        let Some(faults) = self.active() else { return bytes };
        let mut state = self.state.lock();
        state.forget_removed(faults);
        let Some((_, left)) = &mut state.cut else { return bytes };
        let sent = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes);
        *left -= sent as u64;
        sent
    }

    /// Whether the connection is cut now.
    pub(crate) fn is_cut(&self) -> bool {
        self.active().is_some() && self.state.lock().cut.is_some_and(|(_, left)| left == 0)
    }
}

impl State {
    fn forget_removed(&mut self, faults: &Faults) {
        let removals = *faults.removals.borrow();
        if removals == self.removals {
            return;
        }
        self.removals = removals;
        let registry = faults.registry.lock();
        self.cut = self.cut.filter(|(id, _)| registry.get(*id).is_some());
        self.slow = self.slow.filter(|(id, _)| registry.get(*id).is_some());
        if self.slow.is_none() {
            // What has not moved yet moves at once.
            self.paces = Default::default();
        }
    }
}
