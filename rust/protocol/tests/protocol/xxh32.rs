//! The checksum inside LZ4 frames has the published values.

// The module is private: it is compiled into the tests from its source.
#[path = "../../src/records/codecs/xxh32.rs"]
mod source;

use source::xxh32;

#[test]
fn matches_published_values() {
    assert_eq!(xxh32(b""), 0x02CC_5D05);
    assert_eq!(xxh32(b"a"), 0x550D_7456);
    assert_eq!(xxh32(b"abc"), 0x32D1_53FF);
    assert_eq!(xxh32(b"Nobody inspects the spammish repetition"), 0xE229_3B2F);
}
