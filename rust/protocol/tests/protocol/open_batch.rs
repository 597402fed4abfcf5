//! Proves: a batch that is read in steps has the records that it has when it is read at once, for every codec and magic.

use bytes::Bytes;
use ottla_protocol::records::{Batches, Decompressor, OpenBatch, RecordError, RecordRef};

const JAVA: &str = include_str!("records_vectors/java.txt");

type Owned = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>, usize);

fn owned(record: &RecordRef<'_>) -> Owned {
    let bytes = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    (record.offset, record.timestamp, bytes(record.key), bytes(record.value), record.headers.len())
}

fn unhex(text: &str) -> Bytes {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn at_once(bytes: &Bytes) -> Result<Vec<Owned>, RecordError> {
    let (mut decompressor, mut all) = (Decompressor::new(), Vec::new());
    for batch in Batches::new(bytes.clone()) {
        for record in batch?.records(&mut decompressor)? {
            all.push(owned(&record?));
        }
    }
    Ok(all)
}

fn in_steps(bytes: &Bytes) -> Result<Vec<Owned>, RecordError> {
    let (mut decompressor, mut all) = (Decompressor::new(), Vec::new());
    for batch in Batches::new(bytes.clone()) {
        let batch = batch?;
        let position = batch.records(&mut decompressor)?.current_position();
        let mut open = OpenBatch::new(batch, &mut decompressor, position);
        loop {
            let mut records = open.records();
            let Some(record) = records.next() else { break };
            all.push(owned(&record?));
            let position = records.current_position();
            open.move_to(position);
        }
        assert!(open.records().is_exhausted());
    }
    Ok(all)
}

#[test]
fn steps_read_the_records_of_every_codec_and_magic() {
    let mut compared = 0;
    for line in JAVA.lines().filter(|line| !line.starts_with('#')) {
        let bytes = unhex(line.rsplit(' ').next().unwrap());
        let expected = at_once(&bytes).unwrap();
        assert_eq!(in_steps(&bytes).unwrap(), expected, "{line}");
        compared += expected.len();
    }
    assert!(compared > 30, "{compared} records");
}
