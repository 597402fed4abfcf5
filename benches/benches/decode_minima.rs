//! The least time that decoding takes, over many runs: on a machine with others on it, what the code
//! costs shows in the quickest run, and a mean shows the others.
#![allow(clippy::unwrap_used, reason = "a failure may panic")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use ottla_arrow::{ArrowDecoder, Column, DecoderConfig, OffsetRange, PushOptions};
use ottla_benches::{KEY, fetched};
use ottla_protocol::records::Compression;

const RUNS: usize = 3000;

fn main() {
    println!("decode_minima: CRC checked, not compressed, least of {RUNS} runs over 1 MiB of values");
    let forms = [
        ("value", &[Column::Value][..]),
        ("value+offset", &[Column::Value, Column::Offset]),
        ("seven columns", &Column::ALL[..7]),
    ];
    for (key, with) in [(None, "no key"), (Some(KEY), "8-byte key")] {
        for (name, columns) in forms {
            let (blob, records) = fetched(Compression::None, key, 100, 1 << 20);
            let mut decoder = ArrowDecoder::new(columns, DecoderConfig::default());
            let range = OffsetRange { topic: "orders", partition: 0, start: 0, end: i64::MAX };
            let mut least = Duration::MAX;
            for _ in 0..RUNS {
                let start = Instant::now();
                decoder.push(black_box(&blob), &range, PushOptions::default()).unwrap();
                decoder.flush().unwrap();
                while let Some(done) = decoder.pop() {
                    black_box(done);
                }
                least = least.min(start.elapsed());
            }
            let nanos = least.as_nanos() as f64 / records as f64;
            println!("100-byte value, {with:10}  {name:13}  {nanos:5.1} ns a record");
        }
    }
}
