//! Reads record batches from elsewhere: from Kafka's Java classes for every codec and magic, and a few
//! written by hand.

use bytes::Bytes;
use ottla_protocol::records::control::{ControlType, read_control_type};
use ottla_protocol::records::{
    AbortedTransaction, AbortedTransactions, Batches, Compression, Decompressor, RecordError, TimestampType,
};

const JAVA: &str = include_str!("records_vectors/java.txt");

fn unhex(text: &str) -> Bytes {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn java(name: &str) -> Bytes {
    let line = JAVA.lines().find(|line| line.starts_with(name)).unwrap();
    unhex(line.rsplit(' ').next().unwrap())
}

type Owned = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>, Vec<(Vec<u8>, Option<Vec<u8>>)>);

fn all(bytes: Bytes) -> Result<Vec<Owned>, RecordError> {
    let mut decompressor = Decompressor::new();
    let mut out = Vec::new();
    for batch in Batches::new(bytes) {
        for record in batch?.records(&mut decompressor)? {
            let record = record?;
            let headers =
                record.headers.iter().map(|h| (h.key.to_vec(), h.value.map(<[u8]>::to_vec))).collect();
            out.push((
                record.offset,
                record.timestamp,
                record.key.map(<[u8]>::to_vec),
                record.value.map(<[u8]>::to_vec),
                headers,
            ));
        }
    }
    Ok(out)
}

#[test]
fn java_batches_of_every_codec_and_magic() {
    for line in JAVA.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (Some(name), Some(magic), Some(hex)) = (words.next(), words.next(), words.next()) else {
            panic!("malformed line {line}");
        };
        let Ok(codec) = name.parse::<Compression>() else { continue };
        let magic: i8 = magic.parse().unwrap();
        let bytes = unhex(hex);
        let mut decompressor = Decompressor::new();
        for batch in Batches::new(bytes.clone()) {
            let batch = batch.unwrap();
            assert_eq!((batch.magic(), batch.compression()), (magic, codec), "{line}");
            assert!(
                batch.last_offset() <= 1002 && batch.records(&mut decompressor).unwrap().max_remaining() >= 1
            );
            if magic == 2 {
                assert_eq!((batch.base_offset(), batch.last_offset(), batch.count()), (1000, 1002, Some(3)));
                assert_eq!((batch.producer_id(), batch.producer_epoch(), batch.base_sequence()), (77, 3, 40));
                assert_eq!(batch.partition_leader_epoch(), 5);
                assert_eq!(batch.max_timestamp(), 1_700_000_000_005);
            }
        }
        let headers = match magic {
            2 => vec![(b"h".to_vec(), Some(b"1".to_vec())), (b"h".to_vec(), None), (vec![], Some(vec![]))],
            _ => vec![],
        };
        let at = |timestamp| if magic == 0 { -1 } else { timestamp };
        let expected = vec![
            (1000, at(1_700_000_000_000), Some(b"k1".to_vec()), Some(b"ottla ".repeat(30)), headers),
            (1001, at(1_700_000_000_005), None, Some(b"v2".to_vec()), vec![]),
            (1002, at(1_699_999_999_000), Some(b"k3".to_vec()), None, vec![]),
        ];
        assert_eq!(all(bytes).unwrap(), expected, "{line}");
    }
}

#[test]
fn a_wrapper_with_log_append_time_sets_every_timestamp() {
    let records = all(java("gzip-logappend")).unwrap();
    let seen: Vec<_> = records.iter().map(|record| (record.0, record.1)).collect();
    assert_eq!(seen, [(1000, 1234), (1001, 1234)]);
}

#[test]
fn java_markers_end_transactions() {
    let bytes = java("abort");
    let batch = Batches::new(bytes).next().unwrap().unwrap();
    let mut decompressor = Decompressor::new();
    assert!(batch.is_control() && batch.is_transactional());
    assert_eq!((batch.base_offset(), batch.producer_id()), (55, 77));
    assert_eq!(read_control_type(&batch, &mut decompressor), Ok(Some(ControlType::Abort)));
    let mut aborted = AbortedTransactions::new([AbortedTransaction { first_offset: 50, producer_id: 77 }]);
    assert_eq!(aborted.admits(&batch, &mut decompressor), Ok(false));
}

/// A batch of magic 2 by hand, field by field: one record with a null key, value "v" and header "a" twice.
#[test]
fn magic_2_by_hand() {
    let record = "1c 00 04 02 01 02 76 04 02 61 01 02 61 02 78".replace(' ', "");
    let covered = [
        "0008",             // attributes: LogAppendTime
        "00000003",         // last offset delta: compaction removed 0, 2 and 3
        "0000000000000064", // base timestamp
        "00000000000000c8", // max timestamp
        "ffffffffffffffff", // producer id
        "ffff",             // producer epoch
        "ffffffff",         // base sequence
        "00000001",         // count
        &record,
    ]
    .concat();
    let covered = unhex(&covered);
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&7i64.to_be_bytes());
    bytes.extend_from_slice(&(covered.len() as i32 + 9).to_be_bytes());
    bytes.extend_from_slice(&[0, 0, 0, 9, 2]);
    bytes.extend_from_slice(&crc32c::crc32c(&covered).to_be_bytes());
    bytes.extend_from_slice(&covered);
    let batch = Batches::new(Bytes::from(bytes.clone())).next().unwrap().unwrap();
    assert_eq!((batch.last_offset(), batch.partition_leader_epoch()), (10, 9));
    assert_eq!(batch.timestamp_type(), TimestampType::LogAppendTime);
    let headers = vec![(b"a".to_vec(), None), (b"a".to_vec(), Some(b"x".to_vec()))];
    assert_eq!(all(Bytes::from(bytes)).unwrap(), [(8, 200, None, Some(b"v".to_vec()), headers)]);
}

/// A message of magic 0 by hand; a change of its CRC is detected.
#[test]
fn magic_0_by_hand() {
    // CRC-32 of 00 00 ffffffff 00000001 78, as zlib computes it.
    let covered = unhex("0000ffffffff0000000178");
    let mut crc = flate2::Crc::new();
    crc.update(&covered);
    let mut bytes = vec![0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 15];
    bytes.extend_from_slice(&crc.sum().to_be_bytes());
    bytes.extend_from_slice(&covered);
    assert_eq!(all(Bytes::from(bytes.clone())).unwrap(), [(3, -1, None, Some(b"x".to_vec()), vec![])]);
    let batch = Batches::new(Bytes::from(bytes.clone())).next().unwrap().unwrap();
    assert_eq!(batch.timestamp_type(), TimestampType::NoTimestamp);
    bytes[14] ^= 1;
    assert!(matches!(all(Bytes::from(bytes)), Err(RecordError::Crc { base_offset: 3, .. })));
}

#[test]
fn a_truncated_batch_ends_the_iteration_and_announces_its_size() {
    let whole = java("none 2");
    let mut blob = whole.to_vec();
    blob.extend_from_slice(&whole);
    for cut in 1..whole.len() {
        let mut batches = Batches::new(Bytes::from(blob[..blob.len() - cut].to_vec()));
        assert!(batches.next().unwrap().is_ok());
        assert!(batches.next().is_none(), "cut {cut}");
        let left = whole.len() - cut;
        assert_eq!(batches.next_batch_size(), (left >= 12).then_some(whole.len()));
    }
}

#[test]
fn errors_end_the_iteration_and_contain_the_offset() {
    let mut bytes = java("none 2").to_vec();
    let broken = |bytes: &[u8]| {
        let mut batches = Batches::new(Bytes::copy_from_slice(bytes));
        let error = batches.next().unwrap().unwrap_err();
        assert!(batches.next().is_none());
        error
    };
    bytes[100] ^= 0x40;
    let error = broken(&bytes);
    assert!(error.to_string().starts_with("batch at offset 1000: CRC is 0x"), "{error}");
    bytes[16] = 3;
    assert_eq!(broken(&bytes), RecordError::Magic { base_offset: 1000, magic: 3 });
    bytes[16] = 2;
    for length in [-1i32, i32::MIN, 0, 48] {
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        assert_eq!(broken(&bytes), RecordError::BatchLength { base_offset: 1000, length, minimum: 49 });
    }
}
