//! Which versions of which APIs are offered under rules.
//!
//! Invariant: what cannot be judged is not offered: versions that have ids in the place of names, and APIs whose
//! requests cannot be refused.

use ottla_protocol::ApiKey;

use super::AccessRules;
use super::produce::FIRST_WITH_IDS;
use crate::refusal;

/// The first version of Metadata that says whether it may create topics.
pub(super) const FIRST_WITH_CREATION: i16 = 4;
/// The last versions that name topics, of APIs whose later ones have ids.
const LAST_WITH_NAMES: [(ApiKey, i16); 6] = [
    (ApiKey::Produce, FIRST_WITH_IDS - 1),
    (ApiKey::Fetch, 12),
    (ApiKey::OffsetCommit, 9),
    (ApiKey::OffsetFetch, 9),
    (ApiKey::TxnOffsetCommit, 5),
    (ApiKey::DeleteTopics, 5),
];
/// The APIs of brokers among themselves that name topics or groups.
const OF_BROKERS: [ApiKey; 6] = [
    ApiKey::WriteTxnMarkers,
    ApiKey::InitializeShareGroupState,
    ApiKey::ReadShareGroupState,
    ApiKey::ReadShareGroupStateSummary,
    ApiKey::WriteShareGroupState,
    ApiKey::DeleteShareGroupState,
];
impl AccessRules {
    /// The versions of an API that are offered of those that the gateway supports; `None` if it is not.
    pub(crate) fn limit(&self, api: ApiKey, (min, max): (i16, i16)) -> Option<(i16, i16)> {
        let is_refused = self.denied.contains(&api);
        if (is_refused && !refusal::is_known(api))
            || (self.limits_names() && OF_BROKERS.contains(&api))
            // Its cursor names the next topic, whichever that is. Clients ask for the metadata instead.
            || (self.limits_topics() && api == ApiKey::DescribeTopicPartitions)
        {
            return None;
        }
        let (mut min, mut max) = (min, max);
        if is_refused || self.is_judged(api) {
            min = min.max(api.versions().0);
        }
        if api == ApiKey::Metadata && self.changes_metadata() {
            min = min.max(FIRST_WITH_CREATION);
        }
        if let Some((_, last)) =
            LAST_WITH_NAMES.iter().find(|(named, _)| *named == api && self.limits_topics())
        {
            max = max.min(*last);
        }
        (min <= max).then_some((min, max))
    }
}
