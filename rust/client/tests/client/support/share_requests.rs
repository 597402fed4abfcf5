//! Random faults of the requests of a share group's members, all of which they survive.

use ottla_mock::{Fault, Match, Reaction, When};
use ottla_protocol::{ApiKey, ErrorCode};

use crate::support::ms;

const APIS: [ApiKey; 6] = [
    ApiKey::ShareFetch,
    ApiKey::ShareFetch,
    ApiKey::ShareAcknowledge,
    ApiKey::ShareAcknowledge,
    ApiKey::ShareGroupHeartbeat,
    ApiKey::FindCoordinator,
];

/// Codes of a whole response, by API.
fn codes(api: ApiKey) -> &'static [ErrorCode] {
    use ErrorCode as E;
    match api {
        ApiKey::ShareFetch => {
            &[E::ShareSessionNotFound, E::InvalidShareSessionEpoch, E::ShareSessionLimitReached]
        }
        ApiKey::ShareAcknowledge => &[E::ShareSessionNotFound, E::InvalidShareSessionEpoch],
        ApiKey::ShareGroupHeartbeat => &[
            E::NotCoordinator,
            E::CoordinatorNotAvailable,
            E::CoordinatorLoadInProgress,
            E::UnknownMemberId,
            E::FencedMemberEpoch,
        ],
        _ => &[E::CoordinatorNotAvailable],
    }
}

/// Codes of one partition.
const PARTITION_CODES: [ErrorCode; 5] = [
    ErrorCode::NotLeaderOrFollower,
    ErrorCode::FencedLeaderEpoch,
    ErrorCode::UnknownTopicOrPartition,
    ErrorCode::KafkaStorageError,
    ErrorCode::RequestTimedOut,
];

/// A fault that hits one request.
pub(crate) fn fault(random: &mut fastrand::Rng, partitions: i32) -> Fault {
    let api = APIS[random.usize(..APIS.len())];
    let on = Match::api(api).skip(random.u64(..3));
    let is_partial = matches!(api, ApiKey::ShareFetch | ApiKey::ShareAcknowledge);
    let codes = codes(api);
    let code = codes[random.usize(..codes.len())];
    match random.u8(..9) {
        0 | 1 => Fault::once(on, Reaction::Error(code)),
        2 => Fault::once(on, Reaction::Disconnect(When::BeforeHandling)),
        3 => Fault::once(on, Reaction::Disconnect(When::AfterHandling)),
        4 => Fault::once(on, Reaction::TruncateFrame),
        5 if api == ApiKey::ShareFetch => Fault::once(on, Reaction::CorruptRecords),
        5 | 6 if is_partial => {
            let partition = on.topic("t").partition(random.i32(0..partitions));
            let code = PARTITION_CODES[random.usize(..PARTITION_CODES.len())];
            let then = if random.bool() { Reaction::Error(code) } else { Reaction::ErrorAfterHandling(code) };
            Fault::once(partition, then)
        }
        _ => Fault::once(on, Reaction::Delay(ms(random.u64(1..100)))),
    }
}
