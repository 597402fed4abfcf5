//! Decoding whole batches and decoding record by record give the same rows.

use arrow_array::RecordBatch;
use bytes::Bytes;
use ottla_arrow::{ArrowDecoder, Column, DecoderConfig, OffsetRange, PushOptions};
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, Header, ProducerState, rewrite};

/// A pseudo-random generator (xorshift) with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let len = [0, 1, 16, 32, 33, 63, 64, 100, 127, 128, 129, 700][self.below(12)];
        (self.below(6) > 0).then(|| (0..len).map(|_| self.below(256) as u8).collect())
    }
}

/// Runs of similar records, as a producer sends them, and some that differ.
fn batch(random: &mut Random, base_offset: i64) -> (Bytes, usize) {
    let mut builder = BatchBuilder::new(0);
    let mut rows = 0;
    for _ in 0..1 + random.below(6) {
        let (key, value) = (random.bytes(), random.bytes());
        let timestamp = [1000, 1063, 1064, 9000, 10_000_000, i64::MAX][random.below(6)];
        let headers = [Header { key: b"h", value: None }, Header { key: b"i", value: Some(b"x") }];
        for _ in 0..1 + random.below(100) {
            let headers = if random.below(40) == 0 { &headers[..] } else { &[] };
            builder.append(timestamp, key.as_deref(), value.as_deref(), headers).unwrap();
            rows += 1;
        }
    }
    let mut compressor = Compressor::new(Compression::ALL[random.below(5)]).unwrap();
    let bytes = builder.finish(&ProducerState::default(), &mut compressor).unwrap();
    (rewrite::assign_base_offset(bytes, base_offset, 0).unwrap(), rows)
}

fn decode(columns: &[Column], blob: &Bytes, start: i64, config: DecoderConfig) -> Vec<RecordBatch> {
    let mut decoder = ArrowDecoder::new(columns, config);
    let range = OffsetRange { topic: "orders", partition: 3, start, end: i64::MAX };
    decoder.push(blob, &range, PushOptions::default()).unwrap();
    decoder.flush().unwrap();
    std::iter::from_fn(|| decoder.pop()).map(|done| done.batch).collect()
}

#[test]
fn whole_batches_and_single_records_give_the_same_rows() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let few = [Column::Value, Column::Offset];
    let keys = [Column::Key, Column::Timestamp, Column::Headers];
    for _ in 0..200 {
        let (first, rows) = batch(&mut random, 500);
        let (second, more) = batch(&mut random, 500 + rows as i64);
        let blob: Bytes = [first, second].concat().into();
        for columns in [&Column::ALL[..], &few, &keys, &[]] {
            let whole = decode(columns, &blob, 500, DecoderConfig::default());
            let [whole] = &whole[..] else { panic!("{} batches", whole.len()) };
            assert_eq!(whole.num_rows(), rows + more);
            // With a start within the first batch, its records are checked one by one.
            let parts = decode(columns, &blob, 501, DecoderConfig::default());
            assert_eq!(parts, [whole.slice(1, rows + more - 1)]);
            // The limit of rows or of bytes may split a record batch.
            for (max_rows, target_bytes) in [(37, 1 << 20), (1 << 20, 3000), (50, 100), (1 << 20, 1)] {
                let config = DecoderConfig { max_rows, target_bytes, ..DecoderConfig::default() };
                let mut at = 0;
                for part in decode(columns, &blob, 500, config) {
                    assert!(part.num_rows() <= max_rows);
                    assert_eq!(part, whole.slice(at, part.num_rows()));
                    at += part.num_rows();
                }
                assert_eq!(at, rows + more);
            }
        }
    }
}

/// The number of rows is estimated from the mean record size: exact if all records have one size.
#[test]
fn batches_end_at_their_target() {
    let mut builder = BatchBuilder::new(0);
    for _ in 0..10_000 {
        builder.append(1000, None, Some(&[7; 1000]), &[]).unwrap();
    }
    let mut compressor = Compressor::new(Compression::None).unwrap();
    let blob = builder.finish(&ProducerState::default(), &mut compressor).unwrap();
    let config = DecoderConfig { target_bytes: 1 << 20, ..DecoderConfig::default() };
    let rows: Vec<usize> = decode(&Column::ALL, &blob, 0, config).iter().map(RecordBatch::num_rows).collect();
    // 1049 values of 1000 bytes are the fewest that reach 1 MiB.
    assert_eq!(rows, [[1049; 9].as_slice(), &[559]].concat());
}

/// Columns that are not selected leave nothing behind for later batches.
#[test]
fn a_decoder_can_be_reused() {
    let mut random = Random(77);
    for columns in [&Column::ALL[..], &[Column::Key], &[Column::Value, Column::Offset]] {
        let mut decoder = ArrowDecoder::new(columns, DecoderConfig::default());
        for round in 0..20 {
            let (blob, rows) = batch(&mut random, 0);
            let range = OffsetRange { topic: "orders", partition: 3, start: 0, end: i64::MAX };
            let summary = decoder.push(&blob, &range, PushOptions::default()).unwrap();
            assert_eq!((summary.rows, summary.next_offset), (rows, rows as i64), "round {round}");
            decoder.flush().unwrap();
            let done = decoder.pop().unwrap();
            assert_eq!(vec![done.batch], decode(columns, &blob, 0, DecoderConfig::default()));
        }
    }
}
