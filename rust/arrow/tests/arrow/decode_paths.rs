//! Records go into the columns many at once, or one by one: to the same rows.

use arrow_array::RecordBatch;
use bytes::Bytes;
use ottla_arrow::{ArrowDecoder, Column, DecoderConfig, OffsetRange, PushOptions};
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, Header, ProducerState, rewrite};

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
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

/// Runs of like records, as they come from a producer, and some that are unlike.
fn batch(dice: &mut Dice, base_offset: i64) -> (Bytes, usize) {
    let mut builder = BatchBuilder::new(0);
    let mut rows = 0;
    for _ in 0..1 + dice.below(6) {
        let (key, value) = (dice.bytes(), dice.bytes());
        let timestamp = [1000, 1063, 1064, 9000, 10_000_000, i64::MAX][dice.below(6)];
        let headers = [Header { key: b"h", value: None }, Header { key: b"i", value: Some(b"x") }];
        for _ in 0..1 + dice.below(100) {
            let headers = if dice.below(40) == 0 { &headers[..] } else { &[] };
            builder.append(timestamp, key.as_deref(), value.as_deref(), headers).unwrap();
            rows += 1;
        }
    }
    let mut compressor = Compressor::new(Compression::ALL[dice.below(5)]).unwrap();
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
fn rows_are_the_same_one_by_one() {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let few = [Column::Value, Column::Offset];
    let keys = [Column::Key, Column::Timestamp, Column::Headers];
    for _ in 0..200 {
        let (first, rows) = batch(&mut dice, 500);
        let (second, more) = batch(&mut dice, 500 + rows as i64);
        let blob: Bytes = [first, second].concat().into();
        for columns in [&Column::ALL[..], &few, &keys, &[]] {
            let whole = decode(columns, &blob, 500, DecoderConfig::default());
            let [whole] = &whole[..] else { panic!("{} batches", whole.len()) };
            assert_eq!(whole.num_rows(), rows + more);
            // A start within the first batch has each of its records looked at.
            let parts = decode(columns, &blob, 501, DecoderConfig::default());
            assert_eq!(parts, [whole.slice(1, rows + more - 1)]);
            // A chunk may end within a batch, by its rows, its bytes, or either.
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

/// Where a batch ends is reckoned from the mean size of the records: exact where all are alike.
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
    // 1049 values of 1000 bytes are the first to hold a mebibyte.
    assert_eq!(rows, [[1049; 9].as_slice(), &[559]].concat());
}

/// What nobody asked for leaves no trace in the batches after it.
#[test]
fn a_decoder_is_used_again_and_again() {
    let mut dice = Dice(77);
    for columns in [&Column::ALL[..], &[Column::Key], &[Column::Value, Column::Offset]] {
        let mut decoder = ArrowDecoder::new(columns, DecoderConfig::default());
        for round in 0..20 {
            let (blob, rows) = batch(&mut dice, 0);
            let range = OffsetRange { topic: "orders", partition: 3, start: 0, end: i64::MAX };
            let pushed = decoder.push(&blob, &range, PushOptions::default()).unwrap();
            assert_eq!((pushed.rows, pushed.next_offset), (rows, rows as i64), "round {round}");
            decoder.flush().unwrap();
            let done = decoder.pop().unwrap();
            assert_eq!(vec![done.batch], decode(columns, &blob, 0, DecoderConfig::default()));
        }
    }
}
