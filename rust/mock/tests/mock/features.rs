//! UpdateFeatures, and the features that ApiVersions reports. The expected results are those of Kafka 4.4.

use crate::support::consumer_member::Member;
use crate::support::*;
use ottla_mock::{MockCluster, MockConfig};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use ottla_protocol::messages::consumer_group_describe::ConsumerGroupDescribeRequest;
use ottla_protocol::messages::update_features::{FeatureUpdateKey, UpdateFeaturesRequest};

const UPGRADE: i8 = 1;
const SAFE: i8 = 2;
const UNSAFE: i8 = 3;

fn request(updates: &[(&str, i16, i8)], version: i16) -> UpdateFeaturesRequest {
    let update = |(feature, level, upgrade_type): &(&str, i16, i8)| FeatureUpdateKey {
        feature: (*feature).to_owned(),
        max_version_level: *level,
        upgrade_type: if version >= 1 { *upgrade_type } else { 1 },
        ..FeatureUpdateKey::default()
    };
    UpdateFeaturesRequest {
        feature_updates: updates.iter().map(update).collect(),
        ..UpdateFeaturesRequest::default()
    }
}

async fn update(raw: &mut RawClient, updates: &[(&str, i16, i8)]) -> (ErrorCode, Option<String>) {
    let response = raw.call(&request(updates, 2), 2).await;
    (response.error_code.into(), response.error_message)
}

async fn versions(raw: &mut RawClient, version: i16) -> ApiVersionsResponse {
    let request = ApiVersionsRequest {
        client_software_name: "raw".to_owned(),
        client_software_version: "1.0".to_owned(),
        ..ApiVersionsRequest::default()
    };
    raw.call(&request, version).await
}

async fn level(raw: &mut RawClient, name: &str) -> Option<i16> {
    let features = versions(raw, 4).await.finalized_features;
    features.iter().find(|feature| feature.name == name).map(|feature| feature.max_version_level)
}

#[tokio::test]
async fn levels_are_finalized() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let before = versions(&mut raw, 4).await;
    let supported: Vec<_> = before
        .supported_features
        .iter()
        .map(|feature| (feature.name.as_str(), feature.min_version, feature.max_version))
        .collect();
    assert_eq!(
        supported,
        [
            ("eligible.leader.replicas.version", 0, 1),
            ("group.version", 0, 1),
            ("metadata.version", 7, 33),
            ("share.version", 0, 2),
            ("streams.version", 0, 1),
            ("transaction.version", 0, 2),
        ]
    );
    // Older clients cannot read a lowest level of 0.
    let older = versions(&mut raw, 3).await.supported_features;
    assert_eq!(older.iter().map(|feature| feature.name.as_str()).collect::<Vec<_>>(), ["metadata.version"]);

    let mut dry_run = request(&[("transaction.version", 1, SAFE)], 2);
    dry_run.validate_only = true;
    assert_eq!(raw.call(&dry_run, 2).await.error_code, 0);
    assert_eq!(level(&mut raw, "transaction.version").await, Some(2));
    assert_eq!(update(&mut raw, &[("transaction.version", 0, UNSAFE)]).await, (ErrorCode::None, None));
    assert_eq!(level(&mut raw, "transaction.version").await, None);
    let all = [("transaction.version", 2, UPGRADE), ("streams.version", 1, UPGRADE)];
    assert_eq!(update(&mut raw, &all).await, (ErrorCode::None, None));
    let after = versions(&mut raw, 4).await;
    let finalized: Vec<_> =
        after.finalized_features.iter().map(|f| (f.name.as_str(), f.max_version_level)).collect();
    assert_eq!(
        finalized,
        [
            ("group.version", 1),
            ("metadata.version", 33),
            ("share.version", 1),
            ("streams.version", 1),
            ("transaction.version", 2),
        ]
    );
    assert!(after.finalized_features_epoch > before.finalized_features_epoch);
}

#[tokio::test]
async fn invalid_levels_change_nothing() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let same = "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe \
                downgrade.";
    let cases = [
        (
            ("nope", 1, UPGRADE),
            "Invalid update version 1 for feature nope. Local controller 1 does not support this feature.",
        ),
        (
            ("share.version", 9, UPGRADE),
            "Invalid update version 9 for feature share.version. Local controller 1 only supports versions 0-2",
        ),
        (
            ("share.version", -1, UPGRADE),
            "Invalid update version -1 for feature share.version. A feature version cannot be less than 0.",
        ),
        (
            ("share.version", 1, 9),
            "Invalid update version 1 for feature share.version. The controller does not support the given upgrade type.",
        ),
        (
            ("streams.version", 1, SAFE),
            "Invalid update version 1 for feature streams.version. Can't downgrade to a newer version.",
        ),
        (
            ("metadata.version", 32, SAFE),
            "Unsupported metadata.version downgrade from 33 to 32. Refusing to perform the requested downgrade because it might delete metadata information.",
        ),
        (
            ("metadata.version", 32, UNSAFE),
            "Unsupported metadata.version downgrade from 33 to 32. Unsafe metadata downgrade is not supported in this version.",
        ),
    ];
    let prefix = "The update failed for all features since the following feature had an error: ";
    for (change, message) in cases {
        let result = update(&mut raw, &[("group.version", 0, SAFE), change]).await;
        assert_eq!(result, (ErrorCode::InvalidUpdateVersion, Some(format!("{prefix}{message}"))));
    }
    let text = format!("{prefix}Invalid update version 0 for feature group.version. {same}");
    let result = update(&mut raw, &[("group.version", 0, UPGRADE)]).await;
    assert_eq!(result, (ErrorCode::InvalidUpdateVersion, Some(text)));
    assert_eq!(level(&mut raw, "group.version").await, Some(1));
    assert_eq!(update(&mut raw, &[]).await, (ErrorCode::None, None));
}

#[tokio::test]
async fn older_versions_have_results_by_feature() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    for version in 0..=1 {
        let response = raw.call(&request(&[("share.version", 1, UPGRADE)], version), version).await;
        let results: Vec<_> = response.results.iter().map(|r| (r.feature.as_str(), r.error_code)).collect();
        assert_eq!(results, [("share.version", 0)]);
    }
    // As in Kafka 4, version 0 cannot downgrade.
    let mut downgrade = request(&[("share.version", 0, UPGRADE)], 0);
    downgrade.feature_updates[0].allow_downgrade = true;
    let response = raw.call(&downgrade, 0).await;
    assert_eq!(ErrorCode::from(response.error_code), ErrorCode::InvalidUpdateVersion);
    assert!(response.results.is_empty());
}

#[tokio::test]
async fn without_group_version_consumer_groups_are_unsupported() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    assert_eq!(update(&mut raw, &[("group.version", 0, SAFE)]).await.0, ErrorCode::None);
    let mut member = Member::new(&cluster, "m").await;
    assert_eq!(member.heartbeat_error().await, ErrorCode::UnsupportedVersion);
    let describe = ConsumerGroupDescribeRequest { group_ids: vec!["g".to_owned()], ..Default::default() };
    let group = member.raw.call(&describe, 1).await.groups.remove(0);
    assert_eq!(ErrorCode::from(group.error_code), ErrorCode::UnsupportedVersion);
}

#[tokio::test]
async fn a_cluster_may_lack_transaction_version() {
    let config = MockConfig { transaction_version: None, ..MockConfig::default() };
    let cluster = MockCluster::start(config).await.unwrap();
    let mut raw = RawClient::connect(&cluster, 1).await;
    let (code, text) = update(&mut raw, &[("transaction.version", 1, UPGRADE)]).await;
    assert_eq!(code, ErrorCode::InvalidUpdateVersion);
    assert!(text.unwrap().ends_with("does not support this feature."));
}
