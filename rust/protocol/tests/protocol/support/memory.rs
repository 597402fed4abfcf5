//! How much memory a read may take, measured with a counting allocator.

use super::known::Known;
use bytes::Bytes;
use ottla_protocol::WireError;

/// The most that reading `input` bytes may hold at any one time.
pub(crate) fn bound(input: usize) -> u64 {
    64 * 1024 + 40 * u64::try_from(input).unwrap_or(u64::MAX)
}

/// Does `work` and gives its result with the most bytes that it held at once.
pub(crate) fn peak<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let mut result = None;
    let used = allocation_counter::measure(|| result = Some(work()));
    match result {
        Some(result) => (result, used.bytes_max),
        None => unreachable!("the work is always done"),
    }
}

/// Reads `bytes` as the message and checks that memory stays in bounds.
pub(crate) fn probe(known: &Known, version: i16, bytes: Bytes) -> Result<(), WireError> {
    let input = bytes.len();
    let (result, used) = peak(|| (known.probe)(bytes, version));
    assert!(used <= bound(input), "{} v{version}: {used} bytes for an input of {input}", known.name);
    result
}
