//! Version negotiation with the API versions that a broker supports.

use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::{ApiKey, ErrorCode, Request};

use super::introduced::introduced_in;
use crate::error::{Error, Kind, Result};

/// The versions of an API that a broker supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiRange {
    /// The API.
    pub api: ApiKey,
    /// The lowest version.
    pub min: i16,
    /// The highest version.
    pub max: i16,
}

/// The request for a broker's API versions, with the name and version of this client (KIP-511).
pub(crate) fn api_versions_request() -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: "ottla".to_owned(),
        client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Default::default()
    }
}

/// The version of `R` to use: the highest stable one that both sides support, at most `max`.
pub(super) fn negotiate<R: Request>(
    apis: &[ApiRange],
    max: i16,
    address: &str,
    has_controllers: bool,
) -> Result<i16> {
    let range = apis.iter().find(|range| range.api == R::API);
    let version = range.and_then(|range| R::API.negotiate(range.min, range.max.min(max)));
    version.ok_or_else(|| {
        if has_controllers && range.is_none() {
            let message = format!(
                "controllers do not support {}: use bootstrap.servers instead of bootstrap.controllers",
                R::API.name()
            );
            return Error::with_code(ErrorCode::UnsupportedVersion, message).address(address);
        }
        if is_controller(apis) {
            let message = "this is the port of a KRaft controller, not of a broker: use the address of a broker's listener (listeners, advertised.listeners), or bootstrap.controllers for an Admin";
            return Error::new(Kind::Broker, message).address(address);
        }
        let (low, high) = R::API.versions();
        let broker = match range {
            Some(range) => format!("versions {} to {}", range.min, range.max),
            None => "no version".to_owned(),
        };
        let needed = match range {
            Some(_) => String::new(),
            None => introduced_in(R::API).map(|release| format!("; it needs Kafka {release}")).unwrap_or_default(),
        };
        let api = R::API.name();
        let message = format!("the broker supports {broker} of {api}, this client {low} to {high}{needed}");
        Error::with_code(ErrorCode::UnsupportedVersion, message).address(address)
    })
}

/// Whether these are the APIs of a KRaft controller's listener, which serves the quorum and not clients.
pub(crate) fn is_controller(apis: &[ApiRange]) -> bool {
    let serves = |api| apis.iter().any(|range| range.api == api);
    serves(ApiKey::DescribeQuorum) && !serves(ApiKey::Metadata) && !serves(ApiKey::Produce)
}
