//! The responses with an injected error that the gateway gives itself, since nothing of the request may be applied.

use bytes::Bytes;
use ottla_faults::Match;
use ottla_protocol::{ApiKey, ErrorCode};

use super::Faults;
use crate::refusal::{Codes, Named, is_known, refuse};
use crate::stream::RequestHead;

/// Whether requests of this API change nothing, so that they may pass and the error be set in their responses. What
/// else a response says is true then.
pub(super) fn is_set_in_response(api: ApiKey) -> bool {
    let only_reads = matches!(
        api,
        ApiKey::Fetch
            | ApiKey::Metadata
            | ApiKey::ListOffsets
            | ApiKey::OffsetFetch
            | ApiKey::OffsetForLeaderEpoch
            | ApiKey::FindCoordinator
    );
    only_reads || !is_known(api)
}

/// The response with errors for what the conditions cover; what else the request names was not done either, and says so.
pub(super) fn respond(
    head: &RequestHead<'_>,
    errors: &[(Match, ErrorCode)],
    faults: &Faults,
) -> Option<Bytes> {
    let of = |topic: &str, partition: Option<i32>| {
        errors.iter().find(|(on, _)| on.covers(topic, partition)).map(|(_, code)| *code)
    };
    let code = |named: Named<'_>| match named {
        Named::Topic(name, partition) => of(name, partition),
        Named::TopicId(id, partition) => match faults.names.get(id) {
            Some(name) => of(&name, partition),
            // A topic without a name is none that a condition names.
            None => errors.iter().find(|(on, _)| on.topic.is_none()).map(|(_, code)| *code),
        },
        _ => errors.iter().find(|(on, _)| !on.has_target()).map(|(_, code)| *code),
    };
    let codes = Codes::new(&code, "an injected fault");
    let frame =
        refuse(head.api, head.version, head.correlation_id, Bytes::copy_from_slice(head.body), &codes);
    frame?.ok().map(|frame| frame.to_bytes())
}
