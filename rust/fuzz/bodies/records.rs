//! Record batches as a broker sends them, and decompression of any bytes.

use bytes::{BufMut, Bytes};
use ottla_protocol::records::control::read_control_type;
use ottla_protocol::records::{
    AbortedTransaction, AbortedTransactions, Batch, BatchBuilder, Batches, Compression, Compressor,
    Decompressor, PaddedSlice, PlainRun, PlainSink, ProducerState, RecordRef,
};

/// A small limit, so that decompression bombs are found quickly.
const LIMIT: usize = 1 << 20;
/// The allocator's minimum.
const SLACK: usize = 64;

/// Reads fetched record batches. The first byte says whether CRCs are checked.
pub fn batches(data: &[u8]) {
    let [flags, blob @ ..] = data else { return };
    let mut decompressor = Decompressor::with_limit(LIMIT);
    let list = (0..4).map(|n| AbortedTransaction { first_offset: 2 * n, producer_id: n });
    let mut aborted = AbortedTransactions::new(list);
    let mut all = Batches::new(Bytes::copy_from_slice(blob)).check_crc(flags & 1 == 1);
    while let Some(Ok(batch)) = all.next() {
        assert!(batch.size_in_bytes() <= blob.len());
        let _ = (read_control_type(&batch, &mut decompressor), aborted.admits(&batch, &mut decompressor));
        let _ =
            (batch.timestamp_type(), batch.max_timestamp(), batch.delete_horizon(), batch.base_sequence());
        read(&batch, &mut decompressor);
    }
    // A batch's size is known from its first 12 bytes, offset and length.
    let rest = all.rest().len();
    assert!(rest < 12 || all.next_batch_size().is_some_and(|size| size > rest), "{rest} bytes are left over");
}

/// Offset, timestamp, key, value, number of headers.
type OwnedRecord = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>, usize);

fn owned(record: &RecordRef<'_>) -> OwnedRecord {
    let own = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    (record.offset, record.timestamp, own(record.key), own(record.value), record.headers.len())
}

#[derive(Default)]
struct Collect(Vec<OwnedRecord>);

impl PlainSink for Collect {
    fn read_run<'a, R: PlainRun<'a>>(&mut self, records: &mut R) -> usize {
        let own = |slice: PaddedSlice<'_>| {
            let bytes = slice.bytes().to_vec();
            assert_eq!(bytes.len(), slice.len());
            if let Some(padded) = slice.padded::<40>() {
                assert!(bytes.len() > 40 || padded.starts_with(&bytes));
            }
            bytes
        };
        let mut count = 0;
        while count < records.max_remaining() {
            let Some(record) = records.next() else { break };
            assert_eq!((record.key.is_some(), record.value.is_some()), (R::KEY, R::VALUE));
            self.0.push((record.offset, record.timestamp, record.key.map(own), record.value.map(own), 0));
            count += 1;
        }
        count
    }
}

/// Reads all records in both ways and returns the number before the first invalid one.
fn read(batch: &Batch, decompressor: &mut Decompressor) -> usize {
    let mut records = Vec::new();
    if let Ok(all) = batch.records(decompressor) {
        let max_remaining = all.max_remaining();
        for record in all.map_while(Result::ok) {
            assert!(record.offset <= batch.last_offset());
            assert_eq!(record.headers.iter().count(), record.headers.len());
            records.push(owned(&record));
        }
        assert!(records.len() <= max_remaining);
    }
    assert!(decompressor.capacity() <= LIMIT + SLACK, "{} bytes are kept", decompressor.capacity());
    // Reading them in runs, as the Arrow decoder does, gives the same records.
    if let Ok(mut all) = batch.records(decompressor) {
        let mut collected = Collect::default();
        loop {
            all.read_plain(&mut collected);
            let Some(Ok(record)) = all.next() else { break };
            collected.0.push(owned(&record));
        }
        assert_eq!(collected.0, records);
    }
    records.len()
}

/// Decompresses a batch. The first byte selects codec and magic; the rest are the compressed records. With
/// the highest bit set, the rest is compressed first and must round-trip.
pub fn decompress(data: &[u8]) {
    let [flags, payload @ ..] = data else { return };
    let codec = Compression::ALL[1 + usize::from(flags & 3)];
    if flags & 0x80 != 0 {
        return round_trip(codec, payload);
    }
    let entry = match flags >> 2 & 3 {
        0 | 1 => v2(codec, payload),
        magic => legacy(codec, magic - 2, payload),
    };
    let mut decompressor = Decompressor::with_limit(LIMIT);
    for batch in Batches::new(entry).check_crc(false).map_while(Result::ok) {
        read(&batch, &mut decompressor);
    }
}

/// A batch of magic 2 around compressed records.
fn v2(codec: Compression, payload: &[u8]) -> Bytes {
    let mut out = Vec::new();
    out.put_i64(0);
    out.put_i32(49 + payload.len() as i32);
    out.put_i32(0);
    out.put_i8(2);
    out.put_u32(0);
    out.put_i16(i16::from(codec.id()));
    out.put_i32(999); // last offset delta
    out.put_i64(0);
    out.put_i64(0);
    out.put_i64(-1);
    out.put_i16(-1);
    out.put_i32(-1);
    out.put_i32(1000); // count
    out.put_slice(payload);
    out.into()
}

/// A message of magic 0 or 1 around compressed messages.
fn legacy(codec: Compression, magic: u8, payload: &[u8]) -> Bytes {
    let mut message = Vec::new();
    message.put_u32(0);
    message.put_u8(magic);
    message.put_u8(codec.id());
    if magic == 1 {
        message.put_i64(0);
    }
    message.put_i32(-1);
    message.put_i32(payload.len() as i32);
    message.put_slice(payload);
    let mut out = Vec::new();
    out.put_i64(1000);
    out.put_i32(message.len() as i32);
    out.put_slice(&message);
    out.into()
}

fn round_trip(codec: Compression, value: &[u8]) {
    if value.len() > LIMIT / 2 {
        return;
    }
    let mut builder = BatchBuilder::new(0);
    builder.append(0, None, Some(value), &[]).expect("a value is appended");
    let mut compressor = Compressor::new(codec).expect("a compressor");
    let batch = builder.finish(&ProducerState::default(), &mut compressor).expect("a batch is closed");
    let mut decompressor = Decompressor::with_limit(LIMIT);
    let batch = Batches::new(batch).next().expect("a batch").expect("a valid one");
    let mut records = batch.records(&mut decompressor).expect("it can be decompressed");
    let record = records.next().expect("a record").expect("a valid one");
    assert_eq!(record.value, Some(value));
    assert!(records.next().is_none());
}
