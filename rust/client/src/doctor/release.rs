//! Which release of Kafka a broker is, as far as its versions tell.
//!
//! Each row is what a release was the first to speak, so the answer is the oldest release that fits:
//! "2.8 or newer". A broker that is not Apache's may fit any.
//!
//! The rows were derived from the `kafka-clients` jars of every release from 0.11.0 to 4.4.0: of each
//! the APIs (`ApiKeys`) that a broker's listener serves, with ZooKeeper and without where a release
//! had both, and their latest stable versions; then one API of which no earlier release had that
//! version. Left out is what brokers serve only if it is switched on. 3.4 has no row, since it raised
//! nothing but what brokers say to each other. For a new release, compare its jar with the last one's.

use ottla_protocol::ApiKey;

use super::facts::ApiFacts;

/// Newest first: the release, and the version of an API that came with it.
const FIRST_TO_SPEAK: &[(&str, ApiKey, i16)] = &[
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

/// The oldest release that speaks all this.
pub(super) fn oldest_release(apis: &[ApiFacts]) -> Option<&'static str> {
    let speaks = |api: ApiKey, version| apis.iter().any(|a| a.name == api.name() && a.max >= version);
    FIRST_TO_SPEAK.iter().find(|(_, api, version)| speaks(*api, *version)).map(|(release, ..)| *release)
}
