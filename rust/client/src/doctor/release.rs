//! Derives a broker's release of Kafka from the API versions that it supports.
//!
//! Each row is an API version that a release was the first to support, so the result is the oldest release
//! that matches: "2.8 or newer". Brokers other than Apache Kafka's may match any row.
//!
//! The rows were derived from the `kafka-clients` jars of every release from 0.11.0 to 4.4.0, by comparing
//! the latest stable versions of the APIs (`ApiKeys`) that a broker's listener serves, with ZooKeeper and
//! without it where a release had both. APIs that brokers serve only if enabled are left out. 3.4 has no
//! row, because it raised only inter-broker APIs. For a new release, compare its jar with the previous
//! one's.

use ottla_protocol::ApiKey;

use super::facts::ApiFacts;

/// Newest first: a release, and an API version that it introduced.
const INTRODUCED: &[(&str, ApiKey, i16)] = &[
    ("4.4", ApiKey::DeleteGroups, 3),
    ("4.3", ApiKey::DescribeLogDirs, 5),
    ("4.2", ApiKey::OffsetCommit, 10),
    ("4.1", ApiKey::Produce, 13),
    ("4.0", ApiKey::DescribeGroups, 6),
    ("3.9", ApiKey::Fetch, 17),
    ("3.8", ApiKey::Produce, 11),
    ("3.7", ApiKey::Fetch, 16),
    ("3.6", ApiKey::AddPartitionsToTxn, 4),
    ("3.5", ApiKey::Fetch, 15),
    ("3.3", ApiKey::DescribeLogDirs, 4),
    ("3.2", ApiKey::JoinGroup, 9),
    ("3.1", ApiKey::Fetch, 13),
    ("3.0", ApiKey::ListTransactions, 0),
    ("2.8", ApiKey::DescribeCluster, 0),
    ("2.7", ApiKey::Fetch, 12),
    ("2.6", ApiKey::ListGroups, 4),
    ("2.5", ApiKey::OffsetFetch, 7),
    ("2.4", ApiKey::ListPartitionReassignments, 0),
    ("2.3", ApiKey::Fetch, 11),
    ("2.2", ApiKey::ListOffsets, 5),
    ("2.1", ApiKey::Fetch, 10),
    ("2.0", ApiKey::Fetch, 8),
    ("1.1", ApiKey::Fetch, 7),
    ("1.0", ApiKey::Fetch, 6),
];

/// The oldest release that supports these APIs; `None` before 1.0.
pub(super) fn oldest_release(apis: &[ApiFacts]) -> Option<&'static str> {
    let supports = |api: ApiKey, version| apis.iter().any(|a| a.name == api.name() && a.max >= version);
    INTRODUCED.iter().find(|(_, api, version)| supports(*api, *version)).map(|(release, ..)| *release)
}
