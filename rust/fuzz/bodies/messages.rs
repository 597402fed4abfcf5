//! Messages: any bytes as any message in any version.

use bytes::Bytes;
use ottla_protocol::messages::consumer_protocol_assignment::ConsumerProtocolAssignment;
use ottla_protocol::messages::consumer_protocol_subscription::ConsumerProtocolSubscription;
use ottla_protocol::messages::end_txn_marker::EndTxnMarker;
use ottla_protocol::{ApiKey, Message, for_each_message};

/// The first byte is the API key, its highest bit says response; the second is the version; the
/// rest is the message. Numbers that no API has stand for the messages that go with none.
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

/// Reads the request or response of an API, if there is one of this key.
pub fn check_api(key: i16, response: bool, bytes: Bytes, version: i16) {
    let Some(place) = ApiKey::ALL.iter().position(|api| *api as i16 == key) else { return };
    if let Some(check) = checks().get(2 * place + usize::from(response)) {
        check(bytes, version);
    }
}

type Check = fn(Bytes, i16);

/// Requests and responses in turn, in the order of [`ApiKey::ALL`].
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

/// What can be read can be written in the same version, and reading that gives the same bytes again.
fn check<M: Message>(bytes: Bytes, version: i16) {
    let Ok(message) = M::from_bytes(bytes, version) else { return };
    let written = message.to_frame(version).expect("what was read can be written").to_bytes();
    let again = M::from_bytes(written.clone(), version).expect("what was written can be read");
    // Bytes and not values: a NaN is not equal to itself.
    assert_eq!(again.to_frame(version).expect("and written again").to_bytes(), written);
}
