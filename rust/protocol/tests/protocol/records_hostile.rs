//! Random and damaged record batches: no panic, no memory beyond the limit, typed errors (B2, B3, B4).

use bytes::Bytes;
use ottla_protocol::records::control::read_control_type;
use ottla_protocol::records::{
    BATCH_OVERHEAD, BatchBuilder, Batches, Compression, Compressor, Decompressor, Header, InvalidRecord,
    ProducerState, RecordError,
};
use proptest::collection::vec;
use proptest::prelude::*;

const LIMIT: usize = 1 << 16;
const JAVA: &str = include_str!("records_vectors/java.txt");

/// Reads everything that can be read, and checks the memory it takes.
fn read_all(bytes: Bytes, check_crc: bool) -> usize {
    let mut decompressor = Decompressor::with_limit(LIMIT);
    let mut count = 0;
    for batch in Batches::new(bytes).check_crc(check_crc) {
        let Ok(batch) = batch else { break };
        let _ = read_control_type(&batch, &mut decompressor);
        let Ok(records) = batch.records(&mut decompressor) else { continue };
        assert!(records.max_remaining() <= LIMIT.max(batch.size_in_bytes()));
        for record in records {
            let Ok(record) = record else { break };
            assert!(record.offset <= batch.last_offset());
            assert_eq!(record.headers.iter().count(), record.headers.len());
            count += 1;
        }
        assert!(decompressor.capacity() <= LIMIT + 1, "{}", decompressor.capacity());
    }
    count
}

fn build(codec: Compression, values: &[&[u8]]) -> Vec<u8> {
    let mut builder = BatchBuilder::new(0);
    let headers = [Header { key: b"h", value: Some(b"x") }, Header { key: b"h", value: None }];
    for value in values {
        builder.append(5, Some(b"key"), Some(value), &headers).unwrap();
    }
    builder.finish(&ProducerState::default(), &mut Compressor::new(codec).unwrap()).unwrap().to_vec()
}

fn seal(bytes: &mut [u8]) {
    let crc = crc32c::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
}

fn corpus() -> Vec<Vec<u8>> {
    let java = JAVA.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let hex = line.rsplit(' ').next().unwrap();
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    });
    let ours = Compression::ALL.map(|codec| build(codec, &[b"one", &b"two ".repeat(100), &[7; 300]]));
    java.chain(ours).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(mut bytes in vec(any::<u8>(), 0..400), magic in 0u8..3, length in 0u8..=255) {
        read_all(Bytes::from(bytes.clone()), false);
        if bytes.len() > 17 {
            bytes[16] = magic;
            bytes[..8].fill(0);
            bytes[8..12].copy_from_slice(&[0, 0, 0, length]);
        }
        read_all(Bytes::from(bytes), false);
    }

    #[test]
    fn mutated_batches(
        which in any::<prop::sample::Index>(),
        edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in 0usize..40,
        sealed in any::<bool>(),
    ) {
        let corpus = corpus();
        let mut bytes = which.get(&corpus).clone();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let keep = bytes.len() - cut.min(bytes.len());
        if keep > 61 && cut > 0 {
            // The length still matches, but the records are truncated.
            bytes.truncate(keep);
            let len = (keep - 12) as u32;
            bytes[8..12].copy_from_slice(&len.to_be_bytes());
        }
        if sealed && bytes.len() > 61 {
            seal(&mut bytes);
        }
        read_all(Bytes::from(bytes.clone()), true);
        read_all(Bytes::from(bytes), false);
    }

    #[test]
    fn damaged_header_fields(at in 0usize..61, width in 0usize..3, value in any::<i64>(), which in 0usize..5) {
        let mut bytes = build(Compression::ALL[which], &[b"one", b"two"]);
        let width = [1, 4, 8][width].min(61 - at);
        bytes[at..at + width].copy_from_slice(&value.to_be_bytes()[8 - width..]);
        if !(17..=20).contains(&at) {
            seal(&mut bytes);
        }
        read_all(Bytes::from(bytes), true);
    }
}

#[test]
fn counts_and_lengths_must_match_exactly() {
    let good = build(Compression::None, &[b"one", b"two"]);
    assert_eq!(read_all(Bytes::from(good.clone()), true), 2);
    let read = |bytes: &[u8]| -> Result<usize, RecordError> {
        let mut decompressor = Decompressor::new();
        let batch = Batches::new(Bytes::copy_from_slice(bytes)).next().unwrap()?;
        let records: Result<Vec<_>, _> = batch.records(&mut decompressor)?.collect();
        records.map(|records| records.len())
    };
    let with_count = |count: i32| {
        let mut bytes = good.clone();
        bytes[57..61].copy_from_slice(&count.to_be_bytes());
        seal(&mut bytes);
        read(&bytes)
    };
    assert_eq!(with_count(2), Ok(2));
    let left = (good.len() - BATCH_OVERHEAD) / 2;
    assert_eq!(with_count(1), Err(RecordError::Trailing { base_offset: 0, count: 1, left }));
    for count in [3, i32::MAX] {
        let error = RecordError::InvalidRecord { base_offset: 0, index: 2, reason: InvalidRecord::Truncated };
        assert_eq!(with_count(count), Err(error));
    }
    assert_eq!(with_count(-1), Err(RecordError::Field { base_offset: 0, field: "record count", value: -1 }));
    // A wrong length of the first record is detected.
    for delta in [1u8, 2, 0xfe] {
        let mut bytes = good.clone();
        bytes[61] = bytes[61].wrapping_add(delta);
        seal(&mut bytes);
        assert!(read(&bytes).is_err(), "{delta}");
    }
    for (at, byte, reason) in [
        (64, 6, InvalidRecord::Offset),
        (64, 1, InvalidRecord::Offset),
        (65, 3, InvalidRecord::Negative),
        (65, 0x7e, InvalidRecord::Truncated),
        (63, 0x80, InvalidRecord::Offset),
    ] {
        let mut bytes = good.clone();
        bytes[at] = byte;
        seal(&mut bytes);
        let error = read(&bytes).unwrap_err();
        assert!(
            matches!(error, RecordError::InvalidRecord { index: 0, reason: found, .. } if found == reason),
            "{at} {error}"
        );
    }
}

/// B4: a few KiB that decompress to 200 MB.
#[test]
fn decompression_bombs_give_typed_errors() {
    let zeros = vec![0u8; 200 << 20];
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let bomb = build(codec, &[&zeros]);
        for limit in [0, 1, 1000, 1 << 20, 64 << 20] {
            let mut decompressor = Decompressor::with_limit(limit);
            let batch = Batches::new(Bytes::from(bomb.clone())).next().unwrap().unwrap();
            let error = batch.records(&mut decompressor).map(|_| ()).unwrap_err();
            assert_eq!(error, RecordError::TooLarge { base_offset: 0, codec, limit });
            // The allocator's minimum is a few bytes.
            assert!(decompressor.capacity() <= limit + 16, "{codec} {}", decompressor.capacity());
        }
    }
}

/// Data of exactly the limit is decompressed; with a limit one byte lower it is refused.
#[test]
fn the_limit_is_exact() {
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let value = b"abcdefg".repeat(30_000);
        let raw = build(Compression::None, &[&value]).len() - BATCH_OVERHEAD;
        let bytes = Bytes::from(build(codec, &[&value]));
        let batch = Batches::new(bytes).next().unwrap().unwrap();
        assert_eq!(batch.records(&mut Decompressor::with_limit(raw)).unwrap().count(), 1, "{codec}");
        let error = batch.records(&mut Decompressor::with_limit(raw - 1)).map(|_| ()).unwrap_err();
        assert_eq!(error, RecordError::TooLarge { base_offset: 0, codec, limit: raw - 1 });
    }
}

#[test]
fn compressed_data_truncated_anywhere_is_corrupt() {
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let whole = build(codec, &[&b"some text that repeats, ".repeat(40)]);
        for keep in BATCH_OVERHEAD..whole.len() {
            let mut bytes = whole[..keep].to_vec();
            bytes[8..12].copy_from_slice(&((keep - 12) as u32).to_be_bytes());
            seal(&mut bytes);
            let batch = Batches::new(Bytes::from(bytes)).next().unwrap().unwrap();
            let mut decompressor = Decompressor::new();
            let outcome =
                batch.records(&mut decompressor).and_then(|records| records.collect::<Result<Vec<_>, _>>());
            assert!(outcome.is_err(), "{codec} cut to {keep}");
        }
    }
}

/// A snappy stream, an LZ4 frame and a zstd frame that each announce 4 GiB or more.
#[test]
fn announced_sizes_are_not_trusted() {
    let payloads: [(u8, &[u8]); 3] = [
        (2, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0x00, 0x61]),
        (3, &[0x04, 0x22, 0x4D, 0x18, 0x68, 0x70, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x99]),
        (4, &[0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 1, 0, 0]),
    ];
    for (codec, payload) in payloads {
        let mut bytes = build(Compression::None, &[b"x"]);
        bytes.truncate(BATCH_OVERHEAD);
        bytes.extend_from_slice(payload);
        let len = (bytes.len() - 12) as u32;
        bytes[8..12].copy_from_slice(&len.to_be_bytes());
        bytes[22] = codec;
        seal(&mut bytes);
        let batch = Batches::new(Bytes::from(bytes)).next().unwrap().unwrap();
        let mut decompressor = Decompressor::new();
        let outcome =
            batch.records(&mut decompressor).and_then(|records| records.collect::<Result<Vec<_>, _>>());
        assert!(outcome.is_err());
        drop(outcome);
        assert!(decompressor.capacity() <= 1 << 20, "{codec} {}", decompressor.capacity());
    }
}
