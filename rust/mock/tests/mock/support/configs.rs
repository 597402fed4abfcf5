//! Requests that describe and alter configurations.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResult,
};
use ottla_protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};

use crate::support::RawClient;

pub(crate) const TOPIC: i8 = 2;
pub(crate) const BROKER: i8 = 4;
pub(crate) const LOGGERS: i8 = 8;
pub(crate) const CLIENT_METRICS: i8 = 16;
pub(crate) const GROUP: i8 = 32;

pub(crate) const SET: i8 = 0;
pub(crate) const DELETE: i8 = 1;
pub(crate) const APPEND: i8 = 2;
pub(crate) const SUBTRACT: i8 = 3;

pub(crate) type Change<'a> = (&'a str, i8, Option<&'a str>);

pub(crate) fn resource(kind: i8, name: &str, changes: &[Change<'_>]) -> AlterConfigsResource {
    let config = |(name, operation, value): &Change<'_>| AlterableConfig {
        name: (*name).to_owned(),
        config_operation: *operation,
        value: value.map(str::to_owned),
    };
    let configs = changes.iter().map(config).collect();
    AlterConfigsResource { resource_type: kind, resource_name: name.to_owned(), configs }
}

pub(crate) async fn alter(
    raw: &mut RawClient,
    resources: Vec<AlterConfigsResource>,
) -> Vec<(ErrorCode, String)> {
    let request = IncrementalAlterConfigsRequest { resources, validate_only: false };
    let responses = raw.call(&request, 1).await.responses;
    responses.into_iter().map(|r| (r.error_code.into(), r.error_message.unwrap_or_default())).collect()
}

pub(crate) async fn alter_one(
    raw: &mut RawClient,
    kind: i8,
    name: &str,
    changes: &[Change<'_>],
) -> (ErrorCode, String) {
    alter(raw, vec![resource(kind, name, changes)]).await.remove(0)
}

pub(crate) async fn describe(
    raw: &mut RawClient,
    kind: i8,
    name: &str,
    keys: &[&str],
) -> DescribeConfigsResult {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    let resource = DescribeConfigsResource {
        resource_type: kind,
        resource_name: name.to_owned(),
        configuration_keys: Some(keys),
    };
    let request = DescribeConfigsRequest {
        resources: vec![resource],
        include_synonyms: true,
        include_documentation: true,
    };
    raw.call(&request, 4).await.results.remove(0)
}

/// A value with its source, and the synonyms with theirs.
pub(crate) type Places<'a> = (Option<&'a str>, i8, Vec<(&'a str, Option<&'a str>, i8)>);

/// The value and its source, and those of the synonyms.
pub(crate) fn places(entry: &DescribeConfigsResourceResult) -> Places<'_> {
    let synonyms = entry.synonyms.iter();
    let synonyms = synonyms.map(|s| (s.name.as_str(), s.value.as_deref(), s.source)).collect();
    (entry.value.as_deref(), entry.config_source, synonyms)
}
