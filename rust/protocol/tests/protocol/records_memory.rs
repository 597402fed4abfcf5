//! Proves: decompressing a large batch takes no more than a quarter above its size, by whatever client it
//! was written; sizes that compressed bytes announce take no memory beyond what is plausible; large
//! buffers are given back or handed out.

use std::io::Write;

use bytes::Bytes;
use flate2::write::GzEncoder;
use ottla_protocol::records::{
    BATCH_OVERHEAD, Batch, BatchBuilder, Batches, Compression, Compressor, Decompressor, ProducerState,
    RecordError,
};

use crate::support::generate::Random;
use crate::support::memory::peak;

/// What a codec's own state may take besides: tables, windows, the buffer for counting.
const STATE: u64 = 256 << 10;

/// A value of which every other 64 bytes shrink.
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
    uncompressed(value).split_off(BATCH_OVERHEAD)
}

fn uncompressed(value: &[u8]) -> Vec<u8> {
    closed(value, Compressor::new(Compression::None).unwrap())
}

fn closed(value: &[u8], mut compressor: Compressor) -> Vec<u8> {
    let mut builder = BatchBuilder::new(0);
    builder.append(0, None, Some(value), &[]).unwrap();
    builder.finish(&ProducerState::default(), &mut compressor).unwrap().to_vec()
}

/// A batch of one record, with what somebody compressed it to.
fn batch(codec: Compression, payload: &[u8]) -> Batch {
    let mut bytes = uncompressed(b"");
    bytes.truncate(BATCH_OVERHEAD);
    bytes.extend_from_slice(payload);
    let len = (bytes.len() - 12) as u32;
    bytes[8..12].copy_from_slice(&len.to_be_bytes());
    bytes[22] = codec.id();
    Batches::new(Bytes::from(bytes)).check_crc(false).next().unwrap().unwrap()
}

/// What ottla's producer writes.
fn ours(codec: Compression, value: &[u8]) -> Vec<u8> {
    let level = if codec == Compression::Gzip { 1 } else { codec.default_level().unwrap_or_default() };
    closed(value, Compressor::with_level(codec, level).unwrap()).split_off(BATCH_OVERHEAD)
}

/// Gzip in two members, of which the trailer tells the size of the second only.
fn gzip_members(records: &[u8]) -> Vec<u8> {
    let (first, second) = records.split_at(records.len() / 3);
    [gzip_member(first), gzip_member(second)].concat()
}

fn gzip_member(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Zstandard as Java writes it: a frame that announces no size, so that reading it needs a window.
fn zstd_stream(records: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.write_all(records).unwrap();
    encoder.finish().unwrap()
}

/// LZ4 in blocks that depend on the one before.
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

fn by_all_writers(size: usize) -> Written {
    let [_, gzip, snappy, lz4, zstd] = Compression::ALL;
    let (value, mut all) = (value(size), Written::new());
    for codec in [gzip, snappy, lz4, zstd] {
        all.push(("ours", batch(codec, &ours(codec, &value))));
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
fn a_large_batch_takes_a_quarter_more_than_its_size_at_most() {
    for size in [1 << 20, (3 << 20) + 12_345, 10 << 20] {
        for (writer, batch) in by_all_writers(size) {
            let codec = batch.compression();
            let (made, used) = peak(|| read(&batch, &mut Decompressor::new()).unwrap());
            assert!(made >= size);
            let most = made as u64 / 4 * 5 + STATE;
            println!("{codec} {writer} {size}: {:.3}", used as f64 / made as f64);
            assert!(used <= most, "{codec} {writer}: {used} bytes for {made}");
        }
    }
}

/// Of two members with the same bytes the trailers are the same, too: the first must not be taken for all.
#[test]
fn gzip_of_two_equal_members_is_read_to_its_end() {
    // A record is its head, its value, and a zero for no headers; the value here repeats the head.
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

/// A larger batch is not decompressed beside what was kept of a smaller one.
#[test]
fn batches_that_grow_take_no_more_than_the_last() {
    let value = value(10_000_000);
    for (codec, write) in [
        (Compression::Gzip, gzip_members as fn(&[u8]) -> Vec<u8>),
        (Compression::Snappy, snappy_bare),
        (Compression::Lz4, lz4_linked),
        (Compression::Zstd, zstd_stream),
    ] {
        let batches = [100_000, 700_000, 3_000_000, 7_000_000, 10_000_000]
            .map(|size| batch(codec, &write(&records(&value[..size]))));
        let (made, used) = peak(|| {
            let mut decompressor = Decompressor::new();
            batches.iter().map(|batch| read(batch, &mut decompressor).unwrap()).max().unwrap()
        });
        assert!(used <= made as u64 / 4 * 5 + STATE, "{codec}: {used} bytes for {made}");
    }
}

#[test]
fn what_a_large_batch_took_is_given_back_or_handed_out() {
    let (large, small) = (9 << 20, 3 << 20);
    let mut decompressor = Decompressor::new();
    let batch_of = |size| batch(Compression::Zstd, &ours(Compression::Zstd, &value(size)));
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

/// Sizes that are announced and not there: 4 GiB, and as much as is just plausible.
#[test]
fn a_size_that_is_not_there_takes_no_more_than_is_plausible() {
    let payload = ours(Compression::Gzip, &value(1000));
    for announced in [u32::MAX, 900_000_000, 5_000_000] {
        let mut lying = payload.clone();
        let end = lying.len() - 4;
        lying[end..].copy_from_slice(&announced.to_le_bytes());
        let batch = batch(Compression::Gzip, &lying);
        let (outcome, used) = peak(|| read(&batch, &mut Decompressor::new()));
        assert!(matches!(outcome, Err(RecordError::Corrupt { .. })), "{outcome:?}");
        assert!(used <= 2 << 20, "{used} bytes for an announced size of {announced}");
    }
}

/// What is refused takes no memory, wherever its size comes to light.
#[test]
fn a_batch_above_the_limit_takes_little() {
    let (size, limit) = (7 << 20, 4 << 20);
    for (writer, batch) in by_all_writers(size) {
        let codec = batch.compression();
        let (outcome, used) = peak(|| read(&batch, &mut Decompressor::with_limit(limit)));
        assert_eq!(outcome, Err(RecordError::TooLarge { base_offset: 0, codec, limit }), "{writer}");
        assert!(used <= 2 << 20, "{codec} {writer}: {used} bytes");
    }
}
