//! Random and damaged bytes, read as every message in every version: no panic, no disproportionate
//! memory, and a message that can be read can be written and read again (B1, B2, B7).
//!
//! Every run has the same cases; `PROPTEST_RNG_SEED=n PROPTEST_CASES=n` selects others.

use std::sync::LazyLock;

use crate::support::generate::{Shape, encoding};
use crate::support::memory;
use crate::support::message_types::{MessageType, messages_and_versions};
use bytes::Bytes;
use ottla_protocol::header::{RequestHeader, decode_response_header, frame_length};
use ottla_protocol::wire::Reader;
use ottla_protocol::{ApiKey, WireError};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{FileFailurePersistence, RngSeed};

static ALL: LazyLock<Vec<(MessageType, i16)>> = LazyLock::new(messages_and_versions);

fn config() -> ProptestConfig {
    let regressions = FileFailurePersistence::Direct("tests/hostile_messages.regressions");
    let config =
        ProptestConfig { failure_persistence: Some(Box::new(regressions)), ..ProptestConfig::default() };
    let cases = config.cases.max(4096);
    match config.rng_seed {
        RngSeed::Random => ProptestConfig { cases, rng_seed: RngSeed::Fixed(2026), ..config },
        RngSeed::Fixed(_) => ProptestConfig { cases, ..config },
    }
}

/// A change to a valid encoding.
#[derive(Debug, Clone)]
enum Edit {
    Set(Index, u8),
    Flip(Index, u8),
    /// An extreme 32-bit number: a negative length, a huge count, null.
    Number(Index, i32),
    /// The longest variable-length integers, and one that is too long.
    Varint(Index, [u8; 5]),
    Insert(Index, Vec<u8>),
    Remove(Index, u8),
    Truncate(Index),
    /// Duplicates a part of the message.
    Repeat(Index, Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    let number = prop::sample::select(vec![i32::MAX, i32::MIN, -1, -2, 0, 1, 0x7fff, 0x1000_0000]);
    let varint = prop::sample::select(vec![
        [0xff, 0xff, 0xff, 0xff, 0x0f],
        [0xff, 0xff, 0xff, 0xff, 0x07],
        [0xff, 0xff, 0xff, 0xff, 0xff],
        [0x80, 0x80, 0x80, 0x80, 0x00],
        [0x80, 0x80, 0x80, 0x80, 0x10],
    ]);
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(i, byte)| Edit::Set(i, byte)),
        (at(), 0..8_u8).prop_map(|(i, bit)| Edit::Flip(i, bit)),
        (at(), number).prop_map(|(i, n)| Edit::Number(i, n)),
        (at(), varint).prop_map(|(i, n)| Edit::Varint(i, n)),
        (at(), vec(any::<u8>(), 1..6)).prop_map(|(i, bytes)| Edit::Insert(i, bytes)),
        (at(), 1..9_u8).prop_map(|(i, n)| Edit::Remove(i, n)),
        at().prop_map(Edit::Truncate),
        (at(), at()).prop_map(|(i, j)| Edit::Repeat(i, j)),
    ]
}

fn apply(bytes: &mut Vec<u8>, edit: &Edit) {
    let position = |index: &Index| index.index(bytes.len() + 1);
    let overwrite = |bytes: &mut Vec<u8>, at: usize, new: &[u8]| {
        let end = bytes.len().min(at + new.len());
        bytes.splice(at..end, new.iter().copied());
    };
    match edit {
        Edit::Set(i, byte) => overwrite(bytes, i.index(bytes.len() + 1), &[*byte]),
        Edit::Flip(i, bit) => {
            let at = position(i);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        Edit::Number(i, n) => overwrite(bytes, i.index(bytes.len() + 1), &n.to_be_bytes()),
        Edit::Varint(i, n) => overwrite(bytes, i.index(bytes.len() + 1), n),
        Edit::Insert(i, new) => {
            let at = position(i);
            bytes.splice(at..at, new.iter().copied());
        }
        Edit::Remove(i, n) => {
            let at = position(i);
            bytes.drain(at..bytes.len().min(at + usize::from(*n)));
        }
        Edit::Truncate(i) => bytes.truncate(position(i)),
        Edit::Repeat(i, j) => {
            let (from, to) = (position(i).min(position(j)), position(i).max(position(j)));
            let part = bytes[from..to].to_vec();
            bytes.splice(to..to, part);
        }
    }
}

/// Reads any bytes. A message that can be read can be written, and its encoding is then stable.
fn read(message_type: &MessageType, version: i16, bytes: Bytes) {
    if memory::probe(message_type, version, bytes.clone()).is_err() {
        return;
    }
    let again = |bytes| {
        let read = (message_type.read)(bytes, version)?;
        assert_eq!(read.rebuilt.as_ref(), Ok(&read.written), "the tree of {} v{version}", message_type.name);
        read.written
    };
    let first =
        again(bytes).unwrap_or_else(|e| panic!("{} v{version} cannot be written: {e}", message_type.name));
    assert_eq!(again(first.clone()).as_ref(), Ok(&first), "{} v{version}", message_type.name);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_as_any_message(which in any::<Index>(), bytes in vec(any::<u8>(), 0..600)) {
        let (message_type, version) = which.get(&ALL);
        read(message_type, *version, bytes.into());
    }

    /// Small bytes are valid counts, lengths and nulls more often than random bytes.
    #[test]
    fn small_bytes_as_any_message(which in any::<Index>(), bytes in vec(0_u8..5, 0..200)) {
        let (message_type, version) = which.get(&ALL);
        read(message_type, *version, bytes.into());
    }

    #[test]
    fn damaged_messages(which in any::<Index>(), seed in any::<u64>(), edits in vec(edit(), 1..5)) {
        let (message_type, version) = which.get(&ALL);
        let mut bytes = encoding(&message_type.schema, *version, Shape::Varied, seed);
        edits.iter().for_each(|edit| apply(&mut bytes, edit));
        read(message_type, *version, bytes.into());
    }

    /// One more byte is an error, and so is any number of missing bytes.
    #[test]
    fn messages_of_the_wrong_length(which in any::<Index>(), seed in any::<u64>(), extra: u8) {
        let (message_type, version) = which.get(&ALL);
        let bytes = Bytes::from(encoding(&message_type.schema, *version, Shape::Varied, seed));
        for cut in 0..bytes.len() {
            prop_assert!(memory::probe(message_type, *version, bytes.slice(..cut)).is_err(), "cut at {cut}");
        }
        let longer = Bytes::from([&bytes[..], &[extra]].concat());
        let trailing = WireError::Trailing { message: message_type.name, left: 1 };
        prop_assert_eq!(memory::probe(message_type, *version, longer), Err(trailing));
    }

    #[test]
    fn any_bytes_as_headers(mut bytes in vec(any::<u8>(), 0..100), api in any::<Index>(), version: i16) {
        let check = |bytes: &[u8]| {
            let bytes = Bytes::copy_from_slice(bytes);
            let ((), used) = memory::peak(|| {
                let _ = RequestHeader::decode_any(&bytes);
                for header_version in 0..3 {
                    let _ = RequestHeader::decode(&mut Reader::new(bytes.clone()), header_version);
                    let _ = decode_response_header(&mut Reader::new(bytes.clone()), header_version);
                }
            });
            used <= memory::bound(bytes.len())
        };
        prop_assert!(check(&bytes));
        if bytes.len() >= 4 {
            bytes[..2].copy_from_slice(&(*api.get(ApiKey::ALL) as i16).to_be_bytes());
            bytes[2..4].copy_from_slice(&version.to_be_bytes());
        }
        prop_assert!(check(&bytes));
    }

    #[test]
    fn any_length_of_a_frame(prefix: [u8; 4], max in 0_usize..0x8000_0000) {
        let length = i64::from(i32::from_be_bytes(prefix));
        match frame_length(prefix, max) {
            Ok(size) => prop_assert!(size >= 4 && size <= max && i64::try_from(size) == Ok(length)),
            Err(e) => {
                prop_assert!(length < 4 || length > i64::try_from(max).unwrap());
                prop_assert_eq!(e, WireError::Length { what: "frame", length });
            }
        }
    }
}

/// Covers every message and version, without random selection.
#[test]
fn valid_bytes_are_read_and_written_unchanged() {
    let mut count = 0;
    for (message_type, version) in ALL.iter() {
        for seed in 0..32 {
            let bytes = Bytes::from(encoding(&message_type.schema, *version, Shape::Varied, seed));
            memory::probe(message_type, *version, bytes.clone())
                .unwrap_or_else(|e| panic!("{} v{version} seed {seed}: {e}", message_type.name));
            read(message_type, *version, bytes);
            count += 1;
        }
    }
    println!("{count} encodings of {} messages and versions", ALL.len());
}
