//! Short responses, and those that are filtered, which are decoded, changed and encoded again.

use bytes::Bytes;
use ottla_protocol::header::decode_response_header;
use ottla_protocol::messages::api_versions::ApiVersionsResponse;
use ottla_protocol::messages::describe_cluster::DescribeClusterResponse;
use ottla_protocol::messages::describe_quorum::DescribeQuorumResponse;
use ottla_protocol::messages::find_coordinator::{Coordinator, FindCoordinatorResponse};
use ottla_protocol::messages::list_config_resources::ListConfigResourcesResponse;
use ottla_protocol::messages::list_groups::ListGroupsResponse;
use ottla_protocol::messages::metadata::MetadataResponse;
use ottla_protocol::wire::{Frame, Reader};
use ottla_protocol::{ApiKey, ErrorCode, Message, WireError, header};

use crate::rules::{AccessRules, Filter};

use super::{AddressBook, RewriteError, supported_versions};

/// Rewrites a response, from its correlation id on, and returns the frame with its length in front.
pub(crate) fn rewrite_whole(
    api: ApiKey,
    version: i16,
    response: Bytes,
    filter: Option<Filter>,
    book: &mut dyn AddressBook,
) -> Result<Frame, RewriteError> {
    let rewritten = match api {
        ApiKey::Metadata => change::<MetadataResponse>(api, version, response, |response| {
            response
                .brokers
                .retain_mut(|broker| book.replace(broker.node_id, &mut broker.host, &mut broker.port));
            if let (Some(rules), Some(filter)) = (book.rules(), filter) {
                rules.filter_metadata(response, filter);
            }
        }),
        ApiKey::ListConfigResources => {
            change::<ListConfigResourcesResponse>(api, version, response, |response| {
                if let Some(rules) = book.rules() {
                    rules.filter_resources(response);
                }
            })
        }
        ApiKey::ListGroups => change::<ListGroupsResponse>(api, version, response, |response| {
            if let Some(rules) = book.rules() {
                rules.filter_groups(response);
            }
        }),
        ApiKey::ApiVersions => rewrite_versions(version, response, book),
        ApiKey::FindCoordinator => change::<FindCoordinatorResponse>(api, version, response, |response| {
            translate_coordinators(response, version, book);
        }),
        ApiKey::DescribeCluster => change::<DescribeClusterResponse>(api, version, response, |response| {
            response
                .brokers
                .retain_mut(|broker| book.replace(broker.broker_id, &mut broker.host, &mut broker.port));
        }),
        _ => change::<DescribeQuorumResponse>(api, version, response, |response| {
            // Controllers are not reachable through the gateway, so that they have no address here.
            response.nodes.iter_mut().for_each(|node| node.listeners.clear());
        }),
    };
    rewritten.map_err(|error| RewriteError::Malformed { api, error })
}

fn change<M: Message>(
    api: ApiKey,
    version: i16,
    response: Bytes,
    change: impl FnOnce(&mut M),
) -> Result<Frame, WireError> {
    let mut r = Reader::new(response);
    let correlation_id = decode_response_header(&mut r, api.response_header_version(version))?;
    let mut message = M::decode(&mut r, version)?;
    change(&mut message);
    header::response_frame(api, version, correlation_id, &message)
}

fn translate_coordinators(response: &mut FindCoordinatorResponse, version: i16, book: &mut dyn AddressBook) {
    if version < FIRST_WITH_SEVERAL_KEYS {
        let FindCoordinatorResponse { error_code, node_id, host, port, .. } = response;
        translate_coordinator((error_code, node_id, host, port), book);
    }
    for Coordinator { error_code, node_id, host, port, .. } in &mut response.coordinators {
        translate_coordinator((error_code, node_id, host, port), book);
    }
}

/// The first version of FindCoordinator that has a list of coordinators.
const FIRST_WITH_SEVERAL_KEYS: i16 = 4;

/// Translates a coordinator: its error code, id, host and port. One without an address here is not available.
fn translate_coordinator(
    (error_code, broker, host, port): (&mut i16, &mut i32, &mut String, &mut i32),
    book: &mut dyn AddressBook,
) {
    let names_none = *error_code != 0 && (*broker < 0 || host.is_empty());
    if names_none {
        return;
    }
    if !book.replace(*broker, host, port) {
        (*error_code, *broker) = (ErrorCode::CoordinatorNotAvailable.code(), -1);
        (*host, *port) = (String::new(), -1);
    }
}

fn rewrite_versions(version: i16, response: Bytes, book: &dyn AddressBook) -> Result<Frame, WireError> {
    let mut r = Reader::new(response);
    let correlation_id = decode_response_header(&mut r, 0)?;
    // A broker that does not support the version responds in version 0, which starts with the error code as all do.
    let code = r.rest().first_chunk::<2>().map_or(0, |code| i16::from_be_bytes(*code));
    let version = if ErrorCode::from(code) == ErrorCode::UnsupportedVersion { 0 } else { version };
    let mut message = ApiVersionsResponse::decode(&mut r, version)?;
    describe_gateway(&mut message, book.rules(), book.is_for_ottla());
    header::response_frame(ApiKey::ApiVersions, version, correlation_id, &message)
}

/// Makes a broker's response to ApiVersions that of the gateway: the versions that both support and the rules allow, and
/// the mark by which `ottla doctor` knows a gateway. Versions before 3, which have no tagged fields, leave that out; and
/// nobody else gets it: librdkafka until 2.1 skips a tagged field one byte short, so that another one may look as if the
/// response ended too soon.
pub(crate) fn describe_gateway(
    message: &mut ApiVersionsResponse,
    rules: Option<&AccessRules>,
    is_for_ottla: bool,
) {
    limit_versions(message, rules);
    message.ottla_gateway = if is_for_ottla { env!("CARGO_PKG_VERSION").to_owned() } else { String::new() };
}

/// Limits the versions of a response to those that the gateway supports and its rules allow; leaves out other APIs.
fn limit_versions(message: &mut ApiVersionsResponse, rules: Option<&AccessRules>) {
    message.api_keys.retain_mut(|range| {
        let Ok(api) = ApiKey::try_from(range.api_key) else { return false };
        let supported = supported_versions(api);
        let offered = rules.map_or(Some(supported), |rules| rules.limit(api, supported));
        let Some((min, max)) = offered else { return false };
        range.min_version = range.min_version.max(min);
        range.max_version = range.max_version.min(max);
        range.min_version <= range.max_version
    });
}
