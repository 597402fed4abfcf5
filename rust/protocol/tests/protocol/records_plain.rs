//! Reading plain records in runs gives the same records as iterating, for any bytes.

use bytes::Bytes;
use ottla_protocol::records::{
    Batch, BatchBuilder, Batches, Compression, Compressor, Decompressor, Header, PaddedSlice, PlainRun,
    PlainSink, ProducerState, RecordRef, rewrite,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Offset, timestamp, key, value, number of headers.
type OwnedRecord = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>, usize);

/// The records read, and how many of them were read in runs.
#[derive(Default)]
struct Collect {
    records: Vec<OwnedRecord>,
    plain: usize,
    runs: usize,
}

impl PlainSink for Collect {
    fn read_run<'a, R: PlainRun<'a>>(&mut self, records: &mut R) -> usize {
        let own = |slice: PaddedSlice<'_>| {
            let bytes = slice.bytes().to_vec();
            assert_eq!((bytes.len(), bytes.is_empty()), (slice.len(), slice.is_empty()));
            if let Some(padded) = slice.padded::<128>() {
                assert!(bytes.len() > 128 || padded.starts_with(&bytes));
            }
            bytes
        };
        let mut count = 0;
        while count < records.max_remaining() {
            let Some(record) = records.next() else { break };
            assert_eq!((record.key.is_some(), record.value.is_some()), (R::KEY, R::VALUE));
            self.records.push((
                record.offset,
                record.timestamp,
                record.key.map(own),
                record.value.map(own),
                0,
            ));
            count += 1;
        }
        self.plain += count;
        self.runs += 1;
        count
    }
}

fn owned(record: &RecordRef<'_>) -> OwnedRecord {
    let own = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    (record.offset, record.timestamp, own(record.key), own(record.value), record.headers.len())
}

/// Reads a batch in both ways, and compares the records and the final error.
fn compare(batch: &Batch) -> Collect {
    let mut decompressor = Decompressor::default();
    let mut one_by_one = Vec::new();
    let mut error = None;
    for record in batch.records(&mut decompressor).unwrap() {
        match record {
            Ok(record) => one_by_one.push(owned(&record)),
            Err(cause) => error = Some(cause.to_string()),
        }
    }
    let mut collected = Collect::default();
    let mut records = batch.records(&mut decompressor).unwrap();
    let max_remaining = records.max_remaining();
    let end = loop {
        records.read_plain(&mut collected);
        match records.next() {
            Some(Ok(record)) => collected.records.push(owned(&record)),
            Some(Err(cause)) => break Some(cause.to_string()),
            None => break None,
        }
    };
    assert_eq!(collected.records, one_by_one);
    assert_eq!(end, error);
    assert!(collected.records.len() <= max_remaining);
    collected
}

fn single_batch(bytes: Bytes) -> Batch {
    Batches::new(bytes).check_crc(false).next().unwrap().unwrap()
}

/// Values around the points where a varint takes one more byte, in either direction.
fn edge() -> impl Strategy<Value = i64> {
    let around = |at: i64| at - 3..at + 4;
    prop_oneof![0i64..8, around(64), around(-64), around(8192), around(-8192), around(1 << 20), any::<i64>()]
}

#[derive(Debug, Clone)]
struct Run {
    records: usize,
    timestamp: i64,
    key: Option<usize>,
    value: Option<usize>,
    headers: bool,
    gap: u32,
}

fn run() -> impl Strategy<Value = Run> {
    let len = || option::weighted(0.8, prop_oneof![0usize..4, 40usize..70, 100usize..140, 8185usize..8200]);
    (1usize..90, edge(), len(), len(), any::<bool>(), prop_oneof![Just(0u32), 0u32..9000]).prop_map(
        |(records, timestamp, key, value, headers, gap)| {
            // Few long records, to keep the test fast.
            let records = if key.max(value) > Some(1000) { records % 3 + 1 } else { records };
            Run { records, timestamp, key, value, headers: headers && records % 4 == 0, gap }
        },
    )
}

fn build(runs: &[Run], append_time: bool) -> Bytes {
    let mut builder = BatchBuilder::new(0);
    let headers = [Header { key: b"trace", value: Some(b"x") }];
    let fill = vec![0x81; 9000];
    for run in runs {
        builder.skip_offsets(run.gap);
        for _ in 0..run.records {
            let (key, value) = (run.key.map(|len| &fill[..len]), run.value.map(|len| &fill[..len]));
            builder.append(run.timestamp, key, value, if run.headers { &headers } else { &[] }).unwrap();
        }
    }
    let bytes =
        builder.finish(&ProducerState::default(), &mut Compressor::new(Compression::None).unwrap()).unwrap();
    let bytes = rewrite::assign_base_offset(bytes, 1_000_000, 0).unwrap();
    if append_time { rewrite::set_log_append_time(bytes, 77).unwrap() } else { bytes }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn valid_batches(runs in vec(run(), 1..6), append_time in any::<bool>()) {
        let collected = compare(&single_batch(build(&runs, append_time)));
        prop_assert_eq!(collected.records.len(), runs.iter().map(|run| run.records).sum::<usize>());
    }

    #[test]
    fn damaged_batches(
        runs in vec(run(), 1..4),
        edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = build(&runs, false).to_vec();
        // Damage only the records: other tests cover the header.
        for (at, byte) in edits {
            let at = 61 + at.index(bytes.len() - 61);
            bytes[at] = byte;
        }
        compare(&single_batch(bytes.into()));
    }

    /// Random small records, which consist mostly of varints.
    #[test]
    fn small_records(mut bytes in vec(prop_oneof![0u8..20, any::<u8>()], 0..200), count in 0u8..40, last in 0u8..3) {
        let mut batch = build(&[Run { records: 1, timestamp: 5, key: None, value: None, headers: false, gap: 0 }], false)[..61].to_vec();
        batch.append(&mut bytes);
        let length = (batch.len() - 12) as u32;
        batch[8..12].copy_from_slice(&length.to_be_bytes());
        batch[26] = [0, 5, 200][usize::from(last)];
        batch[60] = count;
        compare(&single_batch(batch.into()));
    }
}

#[test]
fn similar_records_are_read_in_few_runs() {
    let similar = |key, value| Run { records: 5000, timestamp: 9, key, value, headers: false, gap: 0 };
    for (key, value) in
        [(None, Some(100)), (Some(8), Some(100)), (Some(8), None), (None, None), (Some(70), Some(9))]
    {
        let collected = compare(&single_batch(build(&[similar(key, value)], false)));
        // The last records may be too close to the end of the bytes for the fast path.
        assert!(collected.plain >= 4990, "{} of 5000", collected.plain);
        // The first offset deltas take one byte, later ones two.
        assert!(collected.runs <= 5, "{} runs", collected.runs);
    }
}
