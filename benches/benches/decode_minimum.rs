//! The minimum time of decoding over many runs. On a shared machine the fastest run shows the cost of the
//! code, while a mean also shows the load of other processes.
#![allow(clippy::unwrap_used, reason = "a failure may panic")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use ottla_arrow::{ArrowDecoder, Column, DecoderConfig, OffsetRange, PushOptions};
use ottla_benches::{KEY, fetched};
use ottla_protocol::records::Compression;

const RUNS: usize = 3000;

fn main() {
    println!("decode_minimum: CRC checked, not compressed, minimum of {RUNS} runs over 1 MiB of values");
    let selections = [
        ("value", &[Column::Value][..]),
        ("value+offset", &[Column::Value, Column::Offset]),
        ("seven columns", &Column::ALL[..7]),
    ];
    for (key, key_label) in [(None, "no key"), (Some(KEY), "8-byte key")] {
        for (name, columns) in selections {
            let (blob, records) = fetched(Compression::None, key, 100, 1 << 20);
            let mut decoder = ArrowDecoder::new(columns, DecoderConfig::default());
            let range = OffsetRange { topic: "orders", partition: 0, start: 0, end: i64::MAX };
            let mut minimum = Duration::MAX;
            for _ in 0..RUNS {
                let start = Instant::now();
                decoder.push(black_box(&blob), &range, PushOptions::default()).unwrap();
                decoder.flush().unwrap();
                while let Some(done) = decoder.pop() {
                    black_box(done);
                }
                minimum = minimum.min(start.elapsed());
            }
            let nanos = minimum.as_nanos() as f64 / records as f64;
            println!("100-byte value, {key_label:10}  {name:13}  {nanos:5.1} ns per record");
        }
    }
}
