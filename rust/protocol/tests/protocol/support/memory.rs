//! The memory limit of reading a message, measured with a counting allocator.

use super::message_types::MessageType;
use bytes::Bytes;
use ottla_protocol::WireError;

/// The maximum memory in bytes for reading `input` bytes.
pub(crate) fn bound(input: usize) -> u64 {
    64 * 1024 + 40 * u64::try_from(input).unwrap_or(u64::MAX)
}

/// Runs `work` and returns its result and its peak memory in bytes.
pub(crate) fn peak<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let mut result = None;
    let used = allocation_counter::measure(|| result = Some(work()));
    match result {
        Some(result) => (result, used.bytes_max),
        None => unreachable!("the closure always runs"),
    }
}

/// Reads `bytes` as the message and checks that memory stays within [`bound`].
pub(crate) fn probe(message_type: &MessageType, version: i16, bytes: Bytes) -> Result<(), WireError> {
    let input = bytes.len();
    let (result, used) = peak(|| (message_type.probe)(bytes, version));
    assert!(used <= bound(input), "{} v{version}: {used} bytes for an input of {input}", message_type.name);
    result
}
