//! Runs the steps that write the message of a row.
//!
//! Invariant: the recursion is as deep as the message, and no row writes more bytes than an array can hold.

use super::json::append_json;
use super::step::{FieldKind, FieldStep, MessageStep, Presence, ValueStep};
use crate::payload_encoder::MAX_BYTES;
use crate::protobuf::input::{BYTES, END_GROUP, FIXED32, FIXED64, START_GROUP, VARINT};
use crate::protobuf::output::{append_bytes, append_sized, append_varint, tag, zigzag};
use crate::protobuf::scalar::Encoding;
use crate::protobuf::time::{MAX_NANOS, TimeKind};
use crate::row_failure::{RowFailure, shown};
use crate::source::{Number, Source, Values, per_second};

impl MessageStep {
    /// Writes the fields of a message.
    pub(super) fn run(&self, columns: &[Source], row: usize, out: &mut Vec<u8>) -> Result<(), RowFailure> {
        for oneof in &self.oneofs {
            self.check_oneof(oneof, columns, row)?;
        }
        for field in &self.fields {
            let column = columns.get(field.column).ok_or_else(RowFailure::internal)?;
            field.run(column, row, out).map_err(|failure| failure.in_field(&field.name))?;
        }
        Ok(())
    }

    fn check_oneof(&self, oneof: &[usize], columns: &[Source], row: usize) -> Result<(), RowFailure> {
        let mut set = oneof.iter().filter_map(|at| self.fields.get(*at)).filter(|field| {
            let column = columns.get(field.column);
            column.is_some_and(|column| field.is_set(column, row))
        });
        match (set.next(), set.next()) {
            (Some(one), Some(other)) => {
                let (one, other) = (&one.name, &other.name);
                Err(RowFailure::new(format!(
                    "{one} and {other} are both set, but a oneof can have only one value"
                )))
            }
            _ => Ok(()),
        }
    }
}

impl FieldStep {
    fn is_set(&self, column: &Source, row: usize) -> bool {
        match &self.kind {
            FieldKind::Single(step) => !step.is_absent(column, row),
            _ => !column.is_null(row),
        }
    }

    fn run(&self, column: &Source, row: usize, out: &mut Vec<u8>) -> Result<(), RowFailure> {
        if !self.is_set(column, row) {
            return match self.presence {
                Presence::Required => Err(RowFailure::new("it is required, but null")),
                _ => Ok(()),
            };
        }
        match (&self.kind, &column.values) {
            (FieldKind::Single(step), _) => {
                if self.presence == Presence::Implicit {
                    return step.append_unless_default(self.number, column, row, out);
                }
                append_varint(out, tag(self.number, step.wire()));
                step.append(self.number, column, row, out)
            }
            (FieldKind::Repeated { items: step, is_packed: true }, Values::List(offsets, items)) => {
                let range = offsets.range(column.place(row));
                if range.is_empty() {
                    return Ok(());
                }
                append_varint(out, tag(self.number, BYTES));
                append_sized(out, |out| {
                    append_items(range, out, |item, out| step.append_valid(self.number, items, item, out))
                })
            }
            (FieldKind::Repeated { items: step, .. }, Values::List(offsets, items)) => {
                append_items(offsets.range(column.place(row)), out, |item, out| {
                    append_varint(out, tag(self.number, step.wire()));
                    step.append_valid(self.number, items, item, out)
                })
            }
            (FieldKind::Map { columns, key, value }, Values::List(offsets, entries)) => {
                append_items(offsets.range(column.place(row)), out, |entry, out| {
                    let (keys, values, at) = entries.pair(columns.0, columns.1, entry)?;
                    append_varint(out, tag(self.number, BYTES));
                    append_sized(out, |out| {
                        append_varint(out, tag(1, key.wire()));
                        key.append_valid(1, keys, at, out)?;
                        append_varint(out, tag(2, value.wire()));
                        value.append_valid(2, values, at, out)
                    })
                })
            }
            _ => Err(RowFailure::internal()),
        }
    }
}

/// Writes items. An error names the item that fails.
#[inline]
fn append_items(
    items: std::ops::Range<usize>,
    out: &mut Vec<u8>,
    mut append: impl FnMut(usize, &mut Vec<u8>) -> Result<(), RowFailure>,
) -> Result<(), RowFailure> {
    let start = items.start;
    for item in items {
        append(item, out).map_err(|failure| failure.in_item(item - start))?;
        if out.len() > MAX_BYTES {
            return Err(RowFailure::full());
        }
    }
    Ok(())
}

impl ValueStep {
    fn wire(&self) -> u8 {
        match self {
            Self::Bool | Self::Enum(_) => VARINT,
            Self::I32(encoding) => encoding.wire(4),
            Self::I64(encoding) | Self::U64(encoding, _) => encoding.wire(8),
            Self::F32 => FIXED32,
            Self::F64 => FIXED64,
            Self::Message { is_group: true, .. } | Self::Empty { is_group: true } => START_GROUP,
            _ => BYTES,
        }
    }

    #[inline]
    fn is_absent(&self, column: &Source, row: usize) -> bool {
        match (self, &column.values) {
            _ if column.is_null(row) => true,
            (Self::Empty { .. }, Values::Boolean(values)) => !values.value(column.place(row)),
            _ => false,
        }
    }

    /// Writes a field without presence.
    #[inline]
    fn append_unless_default(
        &self,
        number: u32,
        column: &Source,
        row: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), RowFailure> {
        let start = out.len();
        append_varint(out, tag(number, self.wire()));
        let value = out.len();
        self.append(number, column, row, out)?;
        // A default is a zero number or an empty string, and all of its encoded bytes are zero.
        let written = out.get(value..).unwrap_or_default();
        let is_default = match self {
            Self::Text | Self::Binary => written == [0],
            _ => written.iter().all(|byte| *byte == 0),
        };
        if is_default {
            out.truncate(start);
        }
        Ok(())
    }

    /// Writes a value that must not be null.
    #[inline]
    fn append_valid(
        &self,
        number: u32,
        column: &Source,
        row: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), RowFailure> {
        match self.is_absent(column, row) {
            true => Err(RowFailure::null()),
            false => self.append(number, column, row, out),
        }
    }

    /// Writes a value that is not null; its tag has been written.
    fn append(&self, number: u32, column: &Source, row: usize, out: &mut Vec<u8>) -> Result<(), RowFailure> {
        let at = column.place(row);
        match (self, &column.values) {
            (Self::Bool, Values::Boolean(values)) => out.push(values.value(at).into()),
            (Self::I32(encoding), values) => {
                let value = i32::try_from(values.long(at)?).map_err(|_| RowFailure::range())?;
                match encoding {
                    Encoding::Fixed | Encoding::Fixed32 => out.extend_from_slice(&value.to_le_bytes()),
                    Encoding::Zigzag => append_varint(out, zigzag(value.into())),
                    _ => append_varint(out, i64::from(value).cast_unsigned()),
                }
            }
            (Self::I64(encoding), values) => append_i64(*encoding, values.long(at)?, out)?,
            (Self::U64(encoding, conversion), values) => {
                let Number::Short(value) = conversion.apply(values, at)? else {
                    return Err(RowFailure::internal());
                };
                let value = u64::try_from(value).map_err(|_| RowFailure::range())?;
                match encoding {
                    Encoding::Fixed => out.extend_from_slice(&value.to_le_bytes()),
                    _ => append_varint(out, value),
                }
            }
            (Self::F32, values) => out.extend_from_slice(&values.float(at)?.to_le_bytes()),
            (Self::F64, values) => out.extend_from_slice(&values.double(at)?.to_le_bytes()),
            (Self::Enum(names), Values::Bytes(values)) => {
                let name = values.text(at);
                let number = names.numbers.get(name).copied().or_else(|| name.parse().ok());
                let number: i32 = number.ok_or_else(|| {
                    RowFailure::new(format!("{:?} is not a value of the enum {}", shown(name), names.of))
                })?;
                append_varint(out, i64::from(number).cast_unsigned());
            }
            (Self::Text | Self::Binary, Values::Bytes(values)) => append_bytes(out, values.get(at)),
            (Self::Message { is_group: true, message }, Values::Struct(columns)) => {
                message.run(columns, at, out)?;
                append_varint(out, tag(number, END_GROUP));
            }
            (Self::Message { message, .. }, Values::Struct(columns)) => {
                append_sized(out, |out| message.run(columns, at, out))?;
            }
            (Self::Empty { is_group: true }, _) => append_varint(out, tag(number, END_GROUP)),
            (Self::Empty { .. }, _) => out.push(0),
            (Self::Wrapper(value), _) => {
                append_sized(out, |out| value.append_unless_default(1, column, row, out))?;
            }
            (Self::Time(kind, unit), values) => {
                append_time(*kind, values.long(at)?, per_second(*unit), out)?;
            }
            (Self::Json(kind), Values::Bytes(values)) => append_json(*kind, values.get(at), out)?,
            _ => return Err(RowFailure::internal()),
        }
        Ok(())
    }
}

/// Returns a number of 64 bits, or an unsigned number of 32 bits.
#[inline]
fn append_i64(encoding: Encoding, value: i64, out: &mut Vec<u8>) -> Result<(), RowFailure> {
    let unsigned = || u32::try_from(value).map_err(|_| RowFailure::range());
    match encoding {
        Encoding::Varint => append_varint(out, value.cast_unsigned()),
        Encoding::Zigzag => append_varint(out, zigzag(value)),
        Encoding::Fixed => out.extend_from_slice(&value.to_le_bytes()),
        Encoding::Varint32 => append_varint(out, unsigned()?.into()),
        Encoding::Fixed32 => out.extend_from_slice(&unsigned()?.to_le_bytes()),
    }
    Ok(())
}

fn append_time(kind: TimeKind, value: i64, per_second: i64, out: &mut Vec<u8>) -> Result<(), RowFailure> {
    // A timestamp's nanoseconds always count forward; a duration's have the same sign as its seconds.
    let (seconds, rest) = match kind {
        TimeKind::Timestamp => (value.div_euclid(per_second), value.rem_euclid(per_second)),
        TimeKind::Duration => (value / per_second, value % per_second),
    };
    let nanos = rest * (MAX_NANOS + 1) / per_second;
    if !kind.seconds().contains(&seconds) {
        return Err(RowFailure::new(kind.out_of_range()));
    }
    append_sized(out, |out| {
        for (number, value) in [(1, seconds), (2, nanos)] {
            if value != 0 {
                append_varint(out, tag(number, VARINT));
                append_varint(out, value.cast_unsigned());
            }
        }
        Ok(())
    })
}
