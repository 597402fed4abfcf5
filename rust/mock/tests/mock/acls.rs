//! CreateAcls, DescribeAcls and DeleteAcls. The expected results are those of Kafka 4.4.

use crate::support::*;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::create_acls::{AclCreation, CreateAclsRequest};
use ottla_protocol::messages::delete_acls::{DeleteAclsFilter, DeleteAclsRequest};
use ottla_protocol::messages::describe_acls::DescribeAclsRequest;

const ANY: i8 = 1;
const MATCH: i8 = 2;
const TOPIC: i8 = 2;
const CLUSTER: i8 = 4;
const LITERAL: i8 = 3;
const PREFIXED: i8 = 4;
const READ: i8 = 3;
const WRITE: i8 = 4;
const ALLOW: i8 = 3;

fn acl(name: &str, pattern: i8, principal: &str) -> AclCreation {
    AclCreation {
        resource_type: TOPIC,
        resource_name: name.to_owned(),
        resource_pattern_type: pattern,
        principal: principal.to_owned(),
        host: "*".to_owned(),
        operation: READ,
        permission_type: ALLOW,
    }
}

async fn create(raw: &mut RawClient, creations: Vec<AclCreation>) -> Vec<(ErrorCode, Option<String>)> {
    let results = raw.call(&CreateAclsRequest { creations }, 3).await.results;
    results.into_iter().map(|result| (result.error_code.into(), result.error_message)).collect()
}

fn everything() -> DescribeAclsRequest {
    DescribeAclsRequest {
        resource_type_filter: ANY,
        resource_name_filter: None,
        pattern_type_filter: ANY,
        principal_filter: None,
        host_filter: None,
        operation: ANY,
        permission_type: ANY,
    }
}

/// The names and principals of the entries that a filter matches.
async fn found(raw: &mut RawClient, filter: &DescribeAclsRequest) -> Vec<(String, String)> {
    let response = raw.call(filter, 3).await;
    assert_eq!((response.error_code, response.error_message.as_deref()), (0, Some("")));
    let resources = response.resources.into_iter();
    resources.flat_map(|r| r.acls.into_iter().map(move |a| (r.resource_name.clone(), a.principal))).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, principal)| ((*name).to_owned(), (*principal).to_owned())).collect()
}

#[tokio::test]
async fn filters_match_as_in_kafka() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let acls = vec![
        acl("orders", LITERAL, "User:alice"),
        acl("or", PREFIXED, "User:alice"),
        acl("*", LITERAL, "User:*"),
        acl("*", PREFIXED, "User:bob"),
        AclCreation { operation: WRITE, host: "10.0.0.1".to_owned(), ..acl("orders", LITERAL, "User:bob") },
        // One that exists stays.
        acl("orders", LITERAL, "User:alice"),
    ];
    assert_eq!(create(&mut raw, acls).await, vec![(ErrorCode::None, Some(String::new())); 6]);
    let named = |name: &str, pattern: i8| DescribeAclsRequest {
        resource_type_filter: TOPIC,
        resource_name_filter: Some(name.to_owned()),
        pattern_type_filter: pattern,
        ..everything()
    };
    let all = [
        ("*", "User:*"),
        ("*", "User:bob"),
        ("or", "User:alice"),
        ("orders", "User:alice"),
        ("orders", "User:bob"),
    ];
    let literal = [("orders", "User:alice"), ("orders", "User:bob")];
    let cases: [(DescribeAclsRequest, &[(&str, &str)]); 14] = [
        (everything(), &all),
        (named("orders", ANY), &literal),
        (named("orders", LITERAL), &literal),
        (named("orders", PREFIXED), &[]),
        (named("or", PREFIXED), &[("or", "User:alice")]),
        (
            named("orders", MATCH),
            &[("*", "User:*"), ("or", "User:alice"), ("orders", "User:alice"), ("orders", "User:bob")],
        ),
        (named("o", MATCH), &[("*", "User:*")]),
        (named("*", MATCH), &[("*", "User:*"), ("*", "User:bob")]),
        (
            DescribeAclsRequest { principal_filter: Some("User:*".to_owned()), ..everything() },
            &[("*", "User:*")],
        ),
        (DescribeAclsRequest { operation: WRITE, ..everything() }, &[("orders", "User:bob")]),
        (
            DescribeAclsRequest { host_filter: Some("10.0.0.1".to_owned()), ..everything() },
            &[("orders", "User:bob")],
        ),
        (DescribeAclsRequest { permission_type: 2, ..everything() }, &[]),
        (DescribeAclsRequest { resource_type_filter: 99, ..everything() }, &[]),
        (DescribeAclsRequest { resource_name_filter: Some(String::new()), ..everything() }, &[]),
    ];
    for (filter, expected) in cases {
        assert_eq!(found(&mut raw, &filter).await, pairs(expected), "{filter:?}");
    }
    for version in 1..=3 {
        let response = raw.call(&everything(), version).await;
        let resources: Vec<_> = response
            .resources
            .iter()
            .map(|r| (r.resource_name.as_str(), r.pattern_type, r.acls.len()))
            .collect();
        assert_eq!(resources, [("*", 3, 1), ("*", 4, 1), ("or", 4, 1), ("orders", 3, 2)]);
    }
}

#[tokio::test]
async fn invalid_entries_are_rejected_one_by_one() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let valid = || acl("t", LITERAL, "User:alice");
    let cases = [
        (AclCreation { resource_type: 99, ..valid() }, "Invalid resourceType UNKNOWN"),
        (AclCreation { resource_pattern_type: 99, ..valid() }, "Invalid patternType UNKNOWN"),
        (AclCreation { operation: 99, ..valid() }, "Invalid operation UNKNOWN"),
        (AclCreation { permission_type: 99, ..valid() }, "Invalid permissionType UNKNOWN"),
        (acl("", LITERAL, "User:alice"), "Invalid empty resource name"),
        (
            AclCreation { resource_type: CLUSTER, ..valid() },
            "The only valid name for the CLUSTER resource is kafka-cluster",
        ),
        (
            acl("t", LITERAL, "alice"),
            "Could not parse principal from `alice` (no colon is present separating the principal type from the \
             principal name)",
        ),
    ];
    for (creation, message) in cases {
        let results = create(&mut raw, vec![valid(), creation]).await;
        assert_eq!(results[0], (ErrorCode::None, Some(String::new())));
        assert_eq!(results[1], (ErrorCode::InvalidRequest, Some(message.to_owned())));
    }
    // Codes of filters fail the whole request.
    let filters = [
        AclCreation { resource_type: ANY, ..valid() },
        AclCreation { resource_pattern_type: MATCH, ..valid() },
        AclCreation { operation: ANY, ..valid() },
        AclCreation { permission_type: ANY, ..valid() },
    ];
    for creation in filters {
        let results = create(&mut raw, vec![valid(), creation]).await;
        assert_eq!(results, vec![(ErrorCode::UnknownServerError, None); 2]);
    }
    for version in 1..=3 {
        let request = CreateAclsRequest { creations: vec![valid()] };
        assert_eq!(raw.call(&request, version).await.results[0].error_code, 0);
    }
    assert_eq!(found(&mut raw, &everything()).await, pairs(&[("t", "User:alice")]));
}

#[tokio::test]
async fn the_code_0_closes_the_connection() {
    let cluster = cluster().await;
    let unset =
        CreateAclsRequest { creations: vec![AclCreation { operation: 0, ..acl("t", LITERAL, "User:a") }] };
    assert!(RawClient::connect(&cluster, 1).await.try_call(&unset, 3).await.is_none());
    let unset = DescribeAclsRequest { resource_type_filter: 0, ..everything() };
    assert!(RawClient::connect(&cluster, 1).await.try_call(&unset, 3).await.is_none());
    let unset = DeleteAclsRequest { filters: vec![DeleteAclsFilter::default()] };
    assert!(RawClient::connect(&cluster, 1).await.try_call(&unset, 3).await.is_none());
}

#[tokio::test]
async fn deleted_entries_are_returned_by_filter() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let filter = |principal: Option<&str>, resource_type_filter: i8, operation: i8| DeleteAclsFilter {
        resource_type_filter,
        resource_name_filter: None,
        pattern_type_filter: ANY,
        principal_filter: principal.map(str::to_owned),
        host_filter: None,
        operation,
        permission_type: ANY,
    };
    for version in 1..=3 {
        let acls = vec![acl("a", LITERAL, "User:alice"), acl("b", PREFIXED, "User:bob")];
        assert_eq!(create(&mut raw, acls).await[1].0, ErrorCode::None);
        let filters = vec![
            filter(Some("User:bob"), ANY, ANY),
            filter(None, ANY, ANY),
            filter(None, 99, ANY),
            filter(None, ANY, 99),
            filter(Some("User:nobody"), ANY, ANY),
        ];
        let results = raw.call(&DeleteAclsRequest { filters }, version).await.filter_results;
        let deleted: Vec<Vec<&str>> = results
            .iter()
            .map(|r| r.matching_acls.iter().map(|acl| acl.principal.as_str()).collect())
            .collect();
        let nothing: Vec<&str> = Vec::new();
        let expected =
            [vec!["User:bob"], vec!["User:alice", "User:bob"], nothing.clone(), nothing.clone(), nothing];
        assert_eq!(deleted, expected);
        let errors: Vec<_> = results.iter().map(|r| (r.error_code, r.error_message.as_deref())).collect();
        let unknown = [(42, Some("Unknown patternFilter.")), (42, Some("Unknown entryFilter."))];
        assert_eq!(errors, [(0, None), (0, None), unknown[0], unknown[1], (0, None)]);
        assert_eq!(results[0].matching_acls[0].pattern_type, PREFIXED);
        assert_eq!(found(&mut raw, &everything()).await, []);
    }
}
