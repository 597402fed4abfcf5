//! The records of a set as rows of typed columns: all of a set are decoded together, once their schemas were looked up,
//! unless they take more bytes than a batch may.
//!
//! Invariant: a record's row is the number of its entry in the set that was decoded.

use std::collections::{BTreeSet, VecDeque};
use std::pin::pin;
use std::sync::Arc;

use ottla_schema::{EncodedRows, Header, SchemaId};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::record_set::RecordSet;
use crate::error::Result;
use crate::typed::{InvalidFields, TypedColumn, TypedColumns, TypedField, TypedRecords, Unvalidated};

/// The keys or the values of a set as rows.
struct SetRows<'a> {
    set: &'a RecordSet,
    header: Header,
}

impl EncodedRows for SetRows<'_> {
    fn count(&self) -> usize {
        self.set.entries.len()
    }

    fn bytes(&self, row: usize) -> Option<&[u8]> {
        let entry = self.set.entries.get(row)?;
        match self.header {
            Header::Key => self.set.key(entry),
            Header::Value => self.set.value(entry),
        }
    }

    fn header(&self, row: usize, name: &str) -> Option<&[u8]> {
        let entry = self.set.entries.get(row)?;
        self.set.headers(entry).filter(|(key, _)| *key == name.as_bytes()).last()?.1
    }
}

/// Looks up what sets need, and returns the payloads that are invalid; `sets` passes each of them on. Cancel-safe.
pub(crate) async fn look_up(
    typed: &TypedColumns,
    sets: impl Fn(&mut dyn FnMut(&RecordSet)),
) -> Result<InvalidFields> {
    let mut topics: BTreeSet<Arc<str>> = BTreeSet::new();
    sets(&mut |set| topics.extend([Arc::clone(&set.partition.0)]));
    for topic in &topics {
        typed.resolve(topic).await?;
    }
    for column in typed.each() {
        column.make_room();
        // Sets mostly need the same schemas.
        let mut missing: BTreeSet<SchemaId> = BTreeSet::new();
        sets(&mut |set| missing.extend(column.missing(&SetRows { set, header: column.header() })));
        column.look_up(missing).await?;
    }
    let mut invalid = InvalidFields::default();
    for column in typed.each() {
        let header = column.header();
        // Copied first: `sets` holds a lock.
        let mut unvalidated = Unvalidated::default();
        sets(&mut |set| column.add_unvalidated(&SetRows { set, header }, &mut unvalidated));
        *invalid.of_mut(header) = column.validate(unvalidated)?;
    }
    Ok(invalid)
}

/// Waits for what decoding needs; returns it if it came before the deadline. `check_woken` returns the error of a
/// poll that was ended; `wakeup` says when to call it.
pub(crate) async fn wait_before_decoding<T>(
    needed: impl Future<Output = Result<T>>,
    wakeup: &Notify,
    check_woken: impl Fn() -> Result<()>,
    deadline: Instant,
) -> Result<Option<T>> {
    let mut needed = pin!(needed);
    loop {
        let mut woken = pin!(wakeup.notified());
        woken.as_mut().enable();
        check_woken()?;
        tokio::select! {
            biased;
            done = &mut needed => return done.map(Some),
            () = woken => {}
            () = sleep_until(deadline) => return Ok(None),
        }
    }
}

/// Decodes the first sets, whose schemas were looked up, until they take the bytes of a batch, unless the first one is
/// decoded already. The others stay as they are, and so does the rest of a set that takes more.
pub(crate) fn decode(
    typed: &TypedColumns,
    sets: &mut VecDeque<RecordSet>,
    invalid: &InvalidFields,
) -> Result<()> {
    let (mut at, mut bytes, most) = (0, 0, typed.batch_bytes());
    while let Some(set) = sets.get_mut(at).filter(|set| set.typed.is_none() && bytes < most) {
        bytes += decode_set(typed, set, invalid)?;
        let decoded = set.typed.as_ref().and_then(TypedRecords::rows).unwrap_or(set.entries.len());
        if let Some(mut rest) = set.split_off(decoded) {
            rest.typed = None;
            sets.insert(at + 1, rest);
            return Ok(());
        }
        at += 1;
    }
    Ok(())
}

/// Decodes the first keys and values of a set; returns about how many bytes they take.
fn decode_set(typed: &TypedColumns, set: &mut RecordSet, invalid: &InvalidFields) -> Result<usize> {
    for (row, entry) in set.entries.iter_mut().enumerate() {
        entry.row = row;
    }
    let mut bytes = 0;
    let mut decode = |typed: &Option<Arc<TypedColumn>>| {
        let decoded = typed.as_ref().map(|typed| -> Result<TypedField> {
            let header = typed.header();
            let decoded = typed.decode_rows(&SetRows { set, header }, invalid.of(header))?;
            bytes += decoded.bytes();
            Ok(TypedField::new(decoded, typed.name()))
        });
        decoded.transpose()
    };
    let records = TypedRecords { key: decode(&typed.key)?, value: decode(&typed.value)? };
    set.typed = Some(records);
    Ok(bytes)
}
