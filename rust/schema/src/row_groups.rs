//! The rows of a column, grouped by their writers' schemas.
//!
//! Invariant: the rows of a group are in order, and each row is in one group, null, or an error.

use crate::encoded_rows::EncodedRows;
use crate::error::RowError;
use crate::header::Header;
use crate::payloads::Payload;
use crate::schema_id::SchemaId;
use crate::wire_format::{Framed, FramingError, WireFormat};

/// The rows grouped by their writer's schema, and the rows without a readable id as errors.
pub(crate) struct Grouped<'a> {
    pub(crate) groups: Vec<Group<'a>>,
    pub(crate) errors: Vec<RowError>,
}

/// The rows of one writer's schema.
pub(crate) struct Group<'a> {
    pub(crate) schema_id: Option<SchemaId>,
    pub(crate) rows: Vec<usize>,
    pub(crate) payloads: Vec<Payload<'a>>,
}

/// Splits the bytes of a row into its schema id and payload. Returns `None` for a null row.
pub(crate) fn split<'a>(
    rows: &'a dyn EncodedRows,
    row: usize,
    wire_format: WireFormat,
    header: Header,
) -> Option<Result<Framed<'a>, FramingError>> {
    let bytes = rows.bytes(row)?;
    Some(wire_format.split(bytes, header, |name| rows.header(row, name)))
}

/// Returns the ids in rows, each once.
pub(crate) fn ids(rows: &dyn EncodedRows, wire_format: WireFormat, header: Header) -> Vec<SchemaId> {
    let mut found = Vec::new();
    let mut last = None;
    for row in 0..rows.count() {
        let Some(Ok(framed)) = split(rows, row, wire_format, header) else { continue };
        // Adjacent rows usually have the same schema.
        if framed.id == last {
            continue;
        }
        last = framed.id;
        if let Some(id) = framed.id
            && !found.contains(&id)
        {
            found.push(id);
        }
    }
    found
}

impl<'a> Grouped<'a> {
    /// Groups the first `count` rows.
    pub(crate) fn new(
        rows: &'a dyn EncodedRows,
        count: usize,
        wire_format: WireFormat,
        header: Header,
    ) -> Self {
        let (mut groups, mut errors): (Vec<Group<'a>>, _) = (Vec::new(), Vec::new());
        let mut current = 0;
        for row in 0..count {
            let Framed { id, header_rest, payload: bytes } = match split(rows, row, wire_format, header) {
                None => continue,
                Some(Ok(framed)) => framed,
                Some(Err(error)) => {
                    errors.push(RowError { row, schema_id: None, reason: error.to_string() });
                    continue;
                }
            };
            // Adjacent rows usually have the same schema.
            if groups.get(current).is_none_or(|group| group.schema_id != id) {
                current = groups.iter().position(|group| group.schema_id == id).unwrap_or(groups.len());
                if current == groups.len() {
                    groups.push(Group { schema_id: id, rows: Vec::new(), payloads: Vec::new() });
                }
            }
            if let Some(group) = groups.get_mut(current) {
                group.rows.push(row);
                group.payloads.push(Payload { bytes, header_rest });
            }
        }
        Self { groups, errors }
    }
}
