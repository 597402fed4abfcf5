//! Kafka's own response to a request that the gateway does not pass on: each topic, partition, group or resource of the
//! request, with an error code. No I/O.
//!
//! - `codes.rs`: [`Codes`], which gives what a request names its error code.
//! - `records.rs`, `topics.rs`, `groups.rs`, `share_groups.rs`, `transactions.rs`, `cluster.rs`: the responses, by area.
//!
//! Invariants: a request is refused whole, since part of it would need a request of another length. What nothing speaks
//! against has a code that says that nothing was done. The responses are the only place that knows what requests name:
//! whoever wants to know whether a request names something asks for its refusal.

mod cluster;
mod codes;
mod groups;
mod records;
mod share_groups;
mod topics;
mod transactions;

use bytes::Bytes;
use ottla_protocol::wire::{Frame, Reader};
use ottla_protocol::{ApiKey, WireError};

pub(crate) use codes::{Codes, Named, RESOURCE_GROUP, RESOURCE_TOPIC};

#[cfg(test)]
mod tests;

/// A list of results, one for each item of a request.
fn each<T, R>(items: impl IntoIterator<Item = T>, result: impl FnMut(T) -> R) -> Vec<R> {
    items.into_iter().map(result).collect()
}

/// For each API a response: `Api: module::Request, request, codes => response;`, after `codes` the version if it matters.
macro_rules! refusals {
    ($($api:ident: $module:ident::$request:ident, $r:ident, $codes:ident $(, $version:ident)? => $response:expr;)*) => {
        /// The APIs that this file responds to.
        pub(super) const APIS: &[ottla_protocol::ApiKey] = &[$(ottla_protocol::ApiKey::$api,)*];

        /// The response to a request; `None` if it is of another file.
        #[allow(clippy::needless_update, reason = "some messages have fields beside those that are set")]
        pub(super) fn refuse(
            (api, version, correlation_id): (ottla_protocol::ApiKey, i16, i32),
            body: &mut ottla_protocol::wire::Reader,
            codes: &crate::refusal::Codes<'_>,
        ) -> Option<Result<ottla_protocol::wire::Frame, ottla_protocol::WireError>> {
            match api {
                $(ottla_protocol::ApiKey::$api => {
                    use ottla_protocol::Message as _;
                    use ottla_protocol::messages::$module::*;
                    Some($request::decode(body, version).and_then(|$r| {
                        let $codes = codes;
                        $(let $version = version;)?
                        ottla_protocol::header::response_frame(api, version, correlation_id, &$response)
                    }))
                })*
                _ => None,
            }
        }
    };
}
use refusals;

/// Whether there is a response for the API that refuses a request.
pub(crate) fn is_known(api: ApiKey) -> bool {
    let areas =
        [cluster::APIS, groups::APIS, records::APIS, share_groups::APIS, topics::APIS, transactions::APIS];
    areas.iter().any(|apis| apis.contains(&api))
}

/// The response that refuses a request; `None` if there is none for the API.
pub(crate) fn refuse(
    api: ApiKey,
    version: i16,
    correlation_id: i32,
    body: Bytes,
    codes: &Codes<'_>,
) -> Option<Result<Frame, WireError>> {
    let request = (api, version, correlation_id);
    let mut body = Reader::new(body);
    let areas = [
        cluster::refuse,
        groups::refuse,
        records::refuse,
        share_groups::refuse,
        topics::refuse,
        transactions::refuse,
    ];
    areas.iter().find_map(|area| area(request, &mut body, codes))
}
