//! Rewrites the parts of responses that contain addresses of brokers, and the versions that a broker supports. No I/O.
//!
//! - `metadata.rs`: the brokers near the start of a response to Metadata; the rest is not looked at.
//! - `endpoints.rs`: the endpoints at the end of responses to Produce, Fetch, ShareFetch and ShareAcknowledge, of which
//!   `layout.rs` passes over the records.
//! - `whole.rs`: short responses, which are decoded whole.
//!
//! Invariant: an address of the cluster never reaches a client: a broker that has no address here is left out. A test
//! looks for hosts and ports in the schemas of all responses, and fails for one that is not handled.

mod endpoints;
mod layout;
mod metadata;
mod whole;

pub(crate) use endpoints::{Endpoints, EndpointsWalk};
pub(crate) use metadata::rewrite_brokers;
pub(crate) use whole::{describe_gateway, rewrite_whole};

use crate::rules::AccessRules;
use ottla_client::Endpoint;
use ottla_protocol::{ApiKey, WireError};

/// Finds the gateway's address of a broker.
pub(crate) trait AddressBook {
    /// The gateway's address of the broker that the cluster advertises at this host and port; `None` if it has none.
    fn translate(&mut self, broker: i32, host: &str, port: i32) -> Option<Endpoint>;

    /// Replaces the host and the port of a broker by those of the gateway; `false` if it has none.
    fn replace(&mut self, broker: i32, host: &mut String, port: &mut i32) -> bool {
        let Some(address) = self.translate(broker, host, *port) else { return false };
        (*host, *port) = (address.host, i32::from(address.port));
        true
    }

    /// Whether the client is ottla, which looks for the mark of a gateway.
    fn is_for_ottla(&self) -> bool {
        false
    }

    /// What clients may not do; `None` without a rule.
    fn rules(&self) -> Option<&AccessRules> {
        None
    }
}

/// A response that cannot be rewritten.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RewriteError {
    /// It is malformed, or of a version that the gateway does not know.
    #[error("malformed response to {}: {error}", api.name())]
    Malformed {
        /// The API.
        api: ApiKey,
        /// The cause.
        error: WireError,
    },
    /// An integer in it is too long.
    #[error("malformed response to {}: an integer of more than 32 bits", .0.name())]
    Varint(ApiKey),
}

/// What the gateway must do with a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Pass it on.
    Pass,
    /// Rewrite the brokers near its start.
    Brokers,
    /// Rewrite the endpoints at its end.
    Endpoints(Endpoints),
    /// Decode it whole.
    Whole,
}

/// What the gateway must do with the response of an API in a version.
pub(crate) fn treatment(api: ApiKey, version: i16) -> Treatment {
    match api {
        ApiKey::Metadata => Treatment::Brokers,
        ApiKey::ApiVersions | ApiKey::FindCoordinator | ApiKey::DescribeCluster => Treatment::Whole,
        ApiKey::DescribeQuorum if version >= 2 => Treatment::Whole,
        _ => Endpoints::of(api, version).map_or(Treatment::Pass, Treatment::Endpoints),
    }
}

/// The versions of an API that the gateway supports: of those with addresses the ones that it can rewrite, of the
/// others all, as far as their headers are known.
pub(crate) fn supported_versions(api: ApiKey) -> (i16, i16) {
    let (min, max) = api.versions();
    let min = match api {
        ApiKey::Metadata | ApiKey::FindCoordinator | ApiKey::DescribeCluster => min,
        // An older version has no address, and the header of the first.
        _ => 0,
    };
    (min, max)
}
