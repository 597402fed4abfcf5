//! Responses to which an injected fault happens: lost, changed, cut in half, or replaced by other bytes.
//!
//! Invariant: a response that is changed is treated as if the broker had sent it so: addresses are rewritten, and what it
//! says is counted.

use bytes::Bytes;

use super::responses::{Begun, PREAMBLE};
use super::{InFlight, Output, PendingResponse, ResponseStream, Source, Violation};
use crate::faults::CHANGED_MAX;
use crate::rewrite::AddressBook;

/// Lets happen to a broker's response of `whole` bytes what a fault says; `None` if it passes as it is.
pub(super) fn meet_fault(
    input: &[u8],
    whole: usize,
    output: &mut Output,
    in_flight: &mut InFlight,
    book: &mut dyn AddressBook,
    answered: &mut dyn FnMut(&PendingResponse, &[u8]),
) -> Result<Option<Begun>, Violation> {
    let Some(PendingResponse { api, version, fault: Some(fault), .. }) = in_flight.front() else {
        return Ok(None);
    };
    if fault.disconnects() {
        fault.undo_changes();
        output.close();
        if let Some(pending) = in_flight.pop() {
            answered(&pending, &[]);
        }
        return Ok(Some(Begun::Consumed(input.len().min(whole))));
    }
    if whole > CHANGED_MAX {
        if let Some(fault) = in_flight.take_fault() {
            fault.undo();
        }
        return Ok(None);
    }
    if input.len() < whole {
        return Ok(Some(Begun::Wanted(whole.min(2 * input.len()))));
    }
    let (api, version) = (*api, *version);
    let Some(fault) = in_flight.take_fault() else { return Ok(None) };
    let mut frame = input[..whole].to_vec();
    fault.change(api, version, &mut frame);
    let mut sent = Output::default();
    match ResponseStream::of_one().advance(&frame, &mut sent, in_flight, book, answered) {
        Ok(_) => {
            let mut bytes = sent.to_bytes(&frame);
            if fault.truncates() {
                bytes.truncate(bytes.len() / 2);
                output.close();
            }
            output.own(bytes.into());
        }
        // A broker's own violation is one without the fault, too.
        Err(violation) if frame == input[..whole] => return Err(violation),
        Err(_) => output.close(),
    }
    Ok(Some(Begun::Consumed(whole)))
}

/// Sends what the gateway itself has for a request, and to which a fault may happen.
pub(super) fn send_own(
    pending: &PendingResponse,
    output: &mut Output,
    answered: &mut dyn FnMut(&PendingResponse, &[u8]),
) {
    let mut frame = match &pending.source {
        Source::Gateway(frame) | Source::Raw(frame) => frame.clone(),
        Source::Broker | Source::Token | Source::Own(_) | Source::Close | Source::Silence => Bytes::new(),
    };
    let is_response = matches!(pending.source, Source::Gateway(_));
    let mut closes = matches!(pending.source, Source::Close);
    if let Some(fault) = &pending.fault {
        if is_response && fault.needs_frame() {
            let mut changed = frame.to_vec();
            fault.change(pending.api, pending.version, &mut changed);
            frame = changed.into();
        }
        if fault.truncates() {
            frame.truncate(frame.len() / 2);
        }
        if fault.disconnects() {
            frame.clear();
        }
        closes |= fault.truncates() || fault.disconnects();
    }
    answered(pending, frame.get(PREAMBLE..).filter(|_| is_response).unwrap_or_default());
    output.own(frame);
    if closes {
        output.close();
    }
}
