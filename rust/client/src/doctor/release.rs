//! Which release of Kafka a broker is, as far as its versions tell.
//!
//! Each row is what a release was the first to speak, so the answer is the oldest release that fits:
//! "2.8 or newer". Releases that changed no version have no row, and a broker that is not Apache's
//! may fit any.

use ottla_protocol::ApiKey;

use super::facts::ApiFacts;

/// Newest first: the release, and the version of an API that came with it.
const FIRST_TO_SPEAK: &[(&str, ApiKey, i16)] = &[
    ("4.1", ApiKey::Produce, 13),
    ("4.0", ApiKey::Produce, 12),
    ("3.9", ApiKey::Fetch, 17),
    ("3.8", ApiKey::Produce, 11),
    ("3.7", ApiKey::Fetch, 16),
    ("3.5", ApiKey::Fetch, 15),
    ("3.1", ApiKey::Fetch, 13),
    ("3.0", ApiKey::ListTransactions, 0),
    ("2.8", ApiKey::DescribeCluster, 0),
    ("2.7", ApiKey::Fetch, 12),
    ("2.6", ApiKey::DescribeClientQuotas, 0),
    ("2.4", ApiKey::ListPartitionReassignments, 0),
    ("2.3", ApiKey::Fetch, 11),
    ("2.2", ApiKey::ElectLeaders, 0),
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
