//! Messages: any bytes as any message in any version.

use bytes::Bytes;
use ottla_protocol::messages::consumer_protocol_assignment::ConsumerProtocolAssignment;
use ottla_protocol::messages::consumer_protocol_subscription::ConsumerProtocolSubscription;
use ottla_protocol::messages::end_txn_marker::EndTxnMarker;
use ottla_protocol::{ApiKey, Message, for_each_message};

/// Reads one message. The first byte is the API key, and its highest bit selects the response; the second
/// is the version; the rest is the message. Unused keys select the messages that belong to no API.
pub fn messages(data: &[u8]) {
    let [which, version, bytes @ ..] = data else { return };
    let (version, bytes) = (i16::from(*version), Bytes::copy_from_slice(bytes));
    match which {
        125 => check::<ConsumerProtocolAssignment>(bytes, version),
        126 => check::<ConsumerProtocolSubscription>(bytes, version),
        127 => check::<EndTxnMarker>(bytes, version),
        _ => check_api(i16::from(which & 0x7f), which & 0x80 != 0, bytes, version),
    }
}

/// Reads the request or response of the API with this key, if there is one.
pub fn check_api(key: i16, response: bool, bytes: Bytes, version: i16) {
    let Some(index) = ApiKey::ALL.iter().position(|api| *api as i16 == key) else { return };
    if let Some(check) = checks().get(2 * index + usize::from(response)) {
        check(bytes, version);
    }
}

type Check = fn(Bytes, i16);

/// Alternating requests and responses, in the order of [`ApiKey::ALL`].
fn checks() -> &'static [Check] {
    static CHECKS: std::sync::LazyLock<Vec<Check>> = std::sync::LazyLock::new(|| {
        let mut all: Vec<Check> = Vec::new();
        macro_rules! add {
            ($message:path) => {
                all.push(check::<$message>);
            };
        }
        for_each_message!(add);
        all
    });
    &CHECKS
}

/// Checks that a message that can be read can be written in the same version, and that its encoding is
/// then stable.
fn check<M: Message>(bytes: Bytes, version: i16) {
    let Ok(message) = M::from_bytes(bytes, version) else { return };
    let written = message.to_frame(version).expect("a decoded message can be written").to_bytes();
    let again = M::from_bytes(written.clone(), version).expect("a written message can be read");
    // Compare bytes, not values: a NaN is not equal to itself.
    assert_eq!(again.to_frame(version).expect("it can be written again").to_bytes(), written);
}
