//! A login whose messages have no headers (SaslHandshake version 0), as a session sees it pass through.
//!
//! Invariant: no frame after the handshake is judged before the broker has responded to it, since its response says
//! whether a token or a request follows.

use std::time::Instant;

use super::Session;
use crate::stream::{PendingResponse, RequestHead, Source, Verdict, tokens_follow};

/// The mechanism whose last message has no response.
const WITH_SILENT_END: &str = "GSSAPI";

impl Session<'_> {
    /// Waits until the broker has responded to the handshake; returns whether a token follows.
    pub(super) async fn wait_for_handshake(&self) -> bool {
        loop {
            if let Some(is_accepted) = *self.handshake.lock() {
                return is_accepted;
            }
            if self.in_flight.lock().is_over() {
                return false;
            }
            self.room.notified().await;
        }
    }

    /// Notes the response to a handshake: one that the gateway itself has given has not reached the broker.
    pub(super) fn handshake_answered(&self, pending: &PendingResponse, body: &[u8]) {
        if tokens_follow(pending.api, pending.version) {
            let is_accepted = matches!(pending.source, Source::Broker) && body.starts_with(&[0, 0]);
            *self.handshake.lock() = Some(is_accepted);
        }
    }

    /// Passes on a token, and expects that of the broker.
    pub(super) fn pass_token(&self, head: &RequestHead<'_>, now: Instant) -> Verdict {
        self.status.requested(head, now);
        let RequestHead { api, version, correlation_id, .. } = *head;
        let pending = PendingResponse::new(api, version, correlation_id, now, Source::Token);
        self.in_flight.lock().push(pending);
        Verdict::Pass
    }

    /// A request follows the tokens, so that the login is complete.
    pub(super) fn end_tokens(&self, now: Instant) {
        if self.status.mechanism() == WITH_SILENT_END
            && let Some(last) = self.in_flight.lock().pop_last_token()
        {
            self.status.responded(&last, &[], now);
        }
    }
}
