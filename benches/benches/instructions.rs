//! One hot loop, repeated as often as asked: `instructions SCENARIO ROUNDS`. `benches/instructions` runs it under
//! callgrind, and compares the counted instructions with those in its file.
//!
//! Invariant: a round does the same work each time, so that the difference of two runs is that of their rounds.
#![allow(clippy::unwrap_used, reason = "a failure may panic")]

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::{BinaryArray, RecordBatch};
use ottla_arrow::{ArrowDecoder, Column, DecoderConfig, OffsetRange, PushOptions, RecordColumns};
use ottla_benches::{KEY, fetched, metadata, values};
use ottla_client::metadata::{Cache, TopicSelector};
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, ProducerState};

/// The bytes of a batch, and of all values of a round.
const BATCH: usize = 64 << 10;
const TOTAL: usize = 256 << 10;
const NOW: i64 = 1_700_000_000_000;

/// Decodes fetched bytes to columns.
fn decode(columns: &[Column], size: usize) -> impl FnMut() {
    let (blob, _) = fetched(Compression::None, Some(KEY), size, TOTAL);
    let mut decoder = ArrowDecoder::new(columns, DecoderConfig::default());
    move || {
        let range = OffsetRange { topic: "orders", partition: 0, start: 0, end: i64::MAX };
        decoder.push(black_box(&blob), &range, PushOptions::default()).unwrap();
        decoder.flush().unwrap();
        while let Some(done) = decoder.pop() {
            black_box(done);
        }
    }
}

/// Encodes records one by one, as `send` does.
fn encode(size: usize) -> impl FnMut() {
    let values = values(size, TOTAL);
    let mut builder = BatchBuilder::new(BATCH);
    let mut compressor = Compressor::new(Compression::None).unwrap();
    move || {
        for value in &values {
            builder.append(NOW, Some(KEY), Some(black_box(value)), &[]).unwrap();
            if builder.size_in_bytes() >= BATCH - size - 100 {
                black_box(builder.finish(&ProducerState::default(), &mut compressor).unwrap());
            }
        }
        builder.reset();
    }
}

/// Encodes Arrow columns, as `send_batch` does.
fn encode_columns(size: usize) -> impl FnMut() {
    let values = values(size, TOTAL);
    let keys: BinaryArray = values.iter().map(|_| Some(KEY)).collect();
    let array: BinaryArray = values.iter().map(Some).collect();
    let columns = [("key", Arc::new(keys) as _), ("value", Arc::new(array) as _)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut builder = BatchBuilder::new(BATCH);
    let mut compressor = Compressor::new(Compression::None).unwrap();
    move || {
        let columns = RecordColumns::try_new(black_box(&batch)).unwrap();
        let mut at = 0;
        while at < columns.len() {
            at = columns.append(&mut builder, at, BATCH, NOW).unwrap();
            black_box(builder.finish(&ProducerState::default(), &mut compressor).unwrap());
        }
    }
}

/// Looks up leaders, a thousand in a round.
fn look_up() -> impl FnMut() {
    let cache = Cache::default();
    cache.process_response(metadata(1_000, 10), true, TopicSelector::All);
    move || {
        for index in 0..1_000 {
            let snapshot = cache.peek();
            black_box(snapshot.partition(black_box("topic-0500"), index % 10).map(|found| found.leader));
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, name, rounds] = arguments.as_slice() else { panic!("instructions SCENARIO ROUNDS") };
    let mut round: Box<dyn FnMut()> = match name.as_str() {
        "decode-7-columns-100" => Box::new(decode(&Column::ALL[..7], 100)),
        "decode-7-columns-1000" => Box::new(decode(&Column::ALL[..7], 1_000)),
        "decode-value-100" => Box::new(decode(&[Column::Value], 100)),
        "encode-100" => Box::new(encode(100)),
        "encode-1000" => Box::new(encode(1_000)),
        "encode-columns-100" => Box::new(encode_columns(100)),
        "look-up" => Box::new(look_up()),
        _ => panic!("{name} is no scenario"),
    };
    for _ in 0..rounds.parse::<u32>().unwrap() {
        round();
    }
}
