//! The memory of decompression: at most a quarter more than the size of a large batch, whichever client
//! wrote it; no more than a plausible amount for an announced size; large buffers are freed or returned.

use std::io::Write;

use bytes::Bytes;
use flate2::write::GzEncoder;
use ottla_protocol::records::{
    BATCH_OVERHEAD, Batch, BatchBuilder, Batches, Compression, Compressor, Decompressor, ProducerState,
    RecordError,
};

use crate::support::generate::Random;
use crate::support::memory::peak;

/// The limit of a codec's own state in bytes: tables, windows, the counting buffer.
const STATE: u64 = 256 << 10;

/// A value in which every second block of 64 bytes is compressible.
fn value(size: usize) -> Vec<u8> {
    let mut random = Random(7);
    let mut value = Vec::with_capacity(size + 128);
    while value.len() < size {
        (0..8).for_each(|_| value.extend(random.next().to_le_bytes()));
        value.extend([b'x'; 64]);
    }
    value
}

/// The records of a batch with this value, before compression.
fn records(value: &[u8]) -> Vec<u8> {
    build_uncompressed(value).split_off(BATCH_OVERHEAD)
}

fn build_uncompressed(value: &[u8]) -> Vec<u8> {
    build_batch(value, Compressor::new(Compression::None).unwrap())
}

fn build_batch(value: &[u8], mut compressor: Compressor) -> Vec<u8> {
    let mut builder = BatchBuilder::new(0);
    builder.append(0, None, Some(value), &[]).unwrap();
    builder.finish(&ProducerState::default(), &mut compressor).unwrap().to_vec()
}

/// A batch around compressed records.
fn batch(codec: Compression, payload: &[u8]) -> Batch {
    let mut bytes = build_uncompressed(b"");
    bytes.truncate(BATCH_OVERHEAD);
    bytes.extend_from_slice(payload);
    let len = (bytes.len() - 12) as u32;
    bytes[8..12].copy_from_slice(&len.to_be_bytes());
    bytes[22] = codec.id();
    Batches::new(Bytes::from(bytes)).check_crc(false).next().unwrap().unwrap()
}

/// Records compressed as ottla's producer does.
fn compressed_by_ottla(codec: Compression, value: &[u8]) -> Vec<u8> {
    let level = if codec == Compression::Gzip { 1 } else { codec.default_level().unwrap_or_default() };
    build_batch(value, Compressor::with_level(codec, level).unwrap()).split_off(BATCH_OVERHEAD)
}

/// Gzip in two members; the trailer announces only the size of the second.
fn gzip_members(records: &[u8]) -> Vec<u8> {
    let (first, second) = records.split_at(records.len() / 3);
    [gzip_member(first), gzip_member(second)].concat()
}

fn gzip_member(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Zstandard as Java writes it: a frame that announces no size, so that decompressing it needs a window.
fn zstd_stream(records: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.write_all(records).unwrap();
    encoder.finish().unwrap()
}

/// LZ4 in linked blocks.
fn lz4_linked(records: &[u8]) -> Vec<u8> {
    let mut builder = lz4::EncoderBuilder::new();
    builder.block_mode(lz4::BlockMode::Linked).block_size(lz4::BlockSize::Max256KB).level(1);
    builder.checksum(lz4::ContentChecksum::NoChecksum);
    let mut encoder = builder.build(Vec::new()).unwrap();
    encoder.write_all(records).unwrap();
    let (written, done) = encoder.finish();
    done.unwrap();
    written
}

/// Snappy without framing, as librdkafka writes it.
fn snappy_bare(records: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(records).unwrap()
}

type Written = Vec<(&'static str, Batch)>;

fn batches_of_all_writers(size: usize) -> Written {
    let [_, gzip, snappy, lz4, zstd] = Compression::ALL;
    let (value, mut all) = (value(size), Written::new());
    for codec in [gzip, snappy, lz4, zstd] {
        all.push(("ottla", batch(codec, &compressed_by_ottla(codec, &value))));
    }
    let records = records(&value);
    all.push(("members", batch(gzip, &gzip_members(&records))));
    all.push(("bare", batch(snappy, &snappy_bare(&records))));
    all.push(("linked", batch(lz4, &lz4_linked(&records))));
    all.push(("stream", batch(zstd, &zstd_stream(&records))));
    all
}

fn read(batch: &Batch, decompressor: &mut Decompressor) -> Result<usize, RecordError> {
    let mut records = batch.records(decompressor)?;
    let bytes = records.bytes().len();
    records.try_for_each(|record| record.map(drop))?;
    Ok(bytes)
}

#[test]
fn a_large_batch_takes_at_most_a_quarter_more_than_its_size() {
    for size in [1 << 20, (3 << 20) + 12_345, 10 << 20] {
        for (writer, batch) in batches_of_all_writers(size) {
            let codec = batch.compression();
            let (decompressed, used) = peak(|| read(&batch, &mut Decompressor::new()).unwrap());
            assert!(decompressed >= size);
            let limit = decompressed as u64 / 4 * 5 + STATE;
            println!("{codec} {writer} {size}: {:.3}", used as f64 / decompressed as f64);
            assert!(used <= limit, "{codec} {writer}: {used} bytes for {decompressed}");
        }
    }
}

/// Two equal members have equal trailers: the first one must not be mistaken for the whole.
#[test]
fn gzip_of_two_equal_members_is_read_to_its_end() {
    // A record is its first fields, its value, and a zero header count; the value here repeats the fields.
    const FILLER: usize = 5_000;
    const HEAD: usize = 10;
    let head = records(&[0; 2 * FILLER + HEAD - 1])[..HEAD].to_vec();
    let filler = [b"some text, ".repeat(FILLER).split_at(FILLER - 1).0, &[0]].concat();
    let value = [&filler[..], &head, &filler[..FILLER - 1]].concat();
    let records = records(&value);
    let (first, second) = records.split_at(records.len() / 2);
    assert!(first == second, "the record is the same bytes twice");
    let batch = batch(Compression::Gzip, &[gzip_member(first), gzip_member(second)].concat());
    assert_eq!(read(&batch, &mut Decompressor::new()), Ok(records.len()));
}

/// The retained buffer of a smaller batch is freed before a larger batch is decompressed.
#[test]
fn growing_batches_take_no_more_than_the_largest() {
    let value = value(10_000_000);
    for (codec, write) in [
        (Compression::Gzip, gzip_members as fn(&[u8]) -> Vec<u8>),
        (Compression::Snappy, snappy_bare),
        (Compression::Lz4, lz4_linked),
        (Compression::Zstd, zstd_stream),
    ] {
        let batches = [100_000, 700_000, 3_000_000, 7_000_000, 10_000_000]
            .map(|size| batch(codec, &write(&records(&value[..size]))));
        let (decompressed, used) = peak(|| {
            let mut decompressor = Decompressor::new();
            batches.iter().map(|batch| read(batch, &mut decompressor).unwrap()).max().unwrap()
        });
        assert!(used <= decompressed as u64 / 4 * 5 + STATE, "{codec}: {used} bytes for {decompressed}");
    }
}

#[test]
fn large_buffers_are_freed_or_returned() {
    let (large, small) = (9 << 20, 3 << 20);
    let mut decompressor = Decompressor::new();
    let batch_of = |size| batch(Compression::Zstd, &compressed_by_ottla(Compression::Zstd, &value(size)));
    assert!(read(&batch_of(large), &mut decompressor).unwrap() >= large);
    assert!(decompressor.capacity() >= large);
    decompressor.trim();
    assert_eq!(decompressor.capacity(), 0);
    assert!(read(&batch_of(small), &mut decompressor).unwrap() >= small);
    decompressor.trim();
    assert!((small..small * 5 / 4).contains(&decompressor.capacity()), "{}", decompressor.capacity());

    let (batch, wanted) = (batch_of(large), records(&value(large)));
    read(&batch, &mut decompressor).unwrap();
    let (taken, used) = peak(|| decompressor.take());
    assert_eq!((taken.len() >= large, used), (true, 0));
    assert!(taken.ends_with(&wanted[wanted.len() - 1000..]));
    assert_eq!(decompressor.capacity(), 0);
    assert!(decompressor.take().is_empty());
    assert!(read(&batch, &mut decompressor).unwrap() >= large);
}

/// False announced sizes: 4 GiB, and one that is barely plausible.
#[test]
fn a_false_announced_size_takes_no_more_than_is_plausible() {
    let payload = compressed_by_ottla(Compression::Gzip, &value(1000));
    for announced in [u32::MAX, 900_000_000, 5_000_000] {
        let mut payload = payload.clone();
        let end = payload.len() - 4;
        payload[end..].copy_from_slice(&announced.to_le_bytes());
        let batch = batch(Compression::Gzip, &payload);
        let (outcome, used) = peak(|| read(&batch, &mut Decompressor::new()));
        assert!(matches!(outcome, Err(RecordError::Corrupt { .. })), "{outcome:?}");
        assert!(used <= 2 << 20, "{used} bytes for an announced size of {announced}");
    }
}

/// A refused batch takes little memory, at whatever point its size is detected.
#[test]
fn a_batch_above_the_limit_takes_little_memory() {
    let (size, limit) = (7 << 20, 4 << 20);
    for (writer, batch) in batches_of_all_writers(size) {
        let codec = batch.compression();
        let (outcome, used) = peak(|| read(&batch, &mut Decompressor::with_limit(limit)));
        assert_eq!(outcome, Err(RecordError::TooLarge { base_offset: 0, codec, limit }), "{writer}");
        assert!(used <= 2 << 20, "{codec} {writer}: {used} bytes");
    }
}
