//! Reads a payload, checks it, and appends its value to the columns of its type.
//!
//! Invariants: the values match the type exactly. A value needs no allocation beyond its columns, except for strings
//! with escapes and unusual numbers. The recursion is as deep as the type. After an error the columns hold a part of
//! the row.

use std::borrow::Cow;
use std::fmt::Write;

use arrow_array::OffsetSizeTrait;
use arrow_buffer::i256;

use super::column::{Column, Full, Values, push_end};
use super::keys::{Keys, Seen};
use super::number::{decimal, double, fitting, float, short};
use super::scanner::{Fault, Scanner};
use super::timestamp::{date, timestamp};
use super::value_type::{Kind, Object, ValueType};
use crate::budget::{Exceeded, ROW_EXCEEDED, RowBudget};

/// The bytes that a map key takes in addition to its text.
const KEY_BYTES: usize = 8;

/// The reason why a row cannot be appended.
#[derive(Debug)]
pub(super) enum RowFault {
    /// The columns cannot take more rows.
    Full,
    /// The row is malformed.
    Malformed(Box<Malformed>),
}

/// The error of a row, and the path to it in reverse order.
#[derive(Debug)]
pub(super) struct Malformed {
    reason: Fault,
    path: Vec<String>,
}

impl From<Fault> for RowFault {
    #[cold]
    fn from(reason: Fault) -> Self {
        Self::Malformed(Box::new(Malformed { reason, path: Vec::new() }))
    }
}

impl From<Full> for RowFault {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

impl From<Exceeded> for RowFault {
    #[cold]
    fn from(_: Exceeded) -> Self {
        ROW_EXCEEDED.to_owned().into()
    }
}

impl RowFault {
    #[cold]
    fn inside(mut self, part: String) -> Self {
        if let Self::Malformed(malformed) = &mut self {
            malformed.path.push(part);
        }
        self
    }
}

impl Malformed {
    /// Returns the reason, with the path to it.
    pub(super) fn into_text(self) -> String {
        if self.path.is_empty() {
            return self.reason;
        }
        let mut message = "$".to_owned();
        for part in self.path.iter().rev() {
            message.push_str(part);
        }
        let _ = write!(message, ": {}", self.reason);
        message
    }
}

/// A payload, which is exactly one value.
#[derive(Debug)]
pub(super) struct Row<'a> {
    scanner: Scanner<'a>,
    budget: RowBudget,
}

impl<'a> Row<'a> {
    pub(super) fn new(payload: &'a [u8], budget: RowBudget) -> Result<Self, Fault> {
        Ok(Self { scanner: Scanner::new(payload)?, budget })
    }

    /// Appends the row to a column. Returns the column bytes that it takes.
    pub(super) fn append(mut self, value_type: &ValueType, column: &mut Column) -> Result<usize, RowFault> {
        self.budget.spend(value_type.width)?;
        self.value(value_type, column)?;
        self.scanner.finish()?;
        Ok(self.budget.spent())
    }

    /// Reads a value and appends it to a column.
    fn value(&mut self, value_type: &ValueType, column: &mut Column) -> Result<(), RowFault> {
        let scanner = &self.scanner;
        if scanner.peek() == Some(b'n') {
            scanner.null()?;
            if !value_type.nullable {
                return Err("it is null, which its type does not allow".to_owned().into());
            }
            column.append_null();
            return Ok(());
        }
        match (&value_type.kind, &mut column.values) {
            (Kind::Object(object), Values::Struct(columns)) => self.object(object, columns)?,
            (Kind::String, values) => {
                let text = scanner.string("a string")?;
                self.text(&text, values)?;
            }
            (Kind::Integer(..), values) => {
                let number = scanner.number("an integer")?;
                match values {
                    Values::Int8(values) => values.push(fitting(&number)?),
                    Values::Int16(values) => values.push(fitting(&number)?),
                    Values::Int32(values) => values.push(fitting(&number)?),
                    Values::Int64(values) => values.push(fitting(&number)?),
                    Values::UInt8(values) => values.push(fitting(&number)?),
                    Values::UInt16(values) => values.push(fitting(&number)?),
                    Values::UInt32(values) => values.push(fitting(&number)?),
                    Values::UInt64(values) => values.push(fitting(&number)?),
                    _ => return Err(mismatch()),
                }
            }
            (Kind::Double, Values::Double(values)) => values.push(double(&scanner.number("a number")?)?),
            (Kind::Float, Values::Float(values)) => values.push(float(&scanner.number("a number")?)?),
            (Kind::Boolean, Values::Boolean(values)) => values.append(scanner.boolean()?),
            (Kind::Text, values) => {
                let start = scanner.position();
                scanner.skip()?;
                let text = scanner.since(start);
                self.text(text, values)?;
            }
            (Kind::List(items), Values::List(offsets, column)) => self.list(items, offsets, column)?,
            (Kind::List(items), Values::LargeList(offsets, column)) => self.list(items, offsets, column)?,
            (Kind::Map(values), Values::Map(offsets, keys, column)) => {
                self.map(values, offsets, keys, column)?;
            }
            (Kind::Decimal(precision, scale), Values::Decimal128(values)) => {
                let digits = self.decimal(*precision, *scale)?;
                values.push(digits.parse().map_err(|_| mismatch())?);
            }
            (Kind::Decimal(precision, scale), Values::Decimal256(values)) => {
                let digits = self.decimal(*precision, *scale)?;
                values.push(digits.parse::<i256>().map_err(|_| mismatch())?);
            }
            (Kind::Date, Values::Int32(values)) => {
                let text = scanner.string("a date")?;
                values.push(date(&text).ok_or_else(|| format!("{:?} is not a date", short(&text)))?);
            }
            (Kind::Timestamp { unit, needs_offset }, Values::Int64(values)) => {
                let text = scanner.string("a timestamp")?;
                let value = timestamp(&text, *unit, *needs_offset);
                values.push(value.ok_or_else(|| {
                    let form = if *needs_offset { "timestamp with an offset" } else { "timestamp" };
                    format!("{:?} is not a {form} within its type's range", short(&text))
                })?);
            }
            _ => return Err(mismatch()),
        }
        column.set_valid();
        Ok(())
    }

    #[inline]
    fn text(&mut self, text: &str, values: &mut Values) -> Result<(), RowFault> {
        self.budget.spend(text.len())?;
        match values {
            Values::Text(values) => values.push(text)?,
            Values::LargeText(values) => values.push(text)?,
            _ => return Err(mismatch()),
        }
        Ok(())
    }

    /// Reads a number, or a string that contains one, since many writers preserve all digits in this way.
    fn decimal(&self, precision: u8, scale: u8) -> Result<String, Fault> {
        let scanner = &self.scanner;
        if scanner.peek() != Some(b'"') {
            return decimal(&scanner.number("a decimal")?, precision, scale);
        }
        let text = scanner.string("a decimal")?;
        let invalid = |_| format!("{:?} is not a decimal", short(&text));
        let inner = Scanner::new(text.as_bytes())?;
        let number = inner.number("a decimal").map_err(invalid)?;
        if number.text.len() != text.len() {
            return Err(invalid(String::new()));
        }
        decimal(&number, precision, scale)
    }

    fn object(&mut self, object: &Object, columns: &mut [Column]) -> Result<(), RowFault> {
        self.scanner.expect(b'{', "an object")?;
        let mut seen = Seen::new(object.members.len());
        let mut expected = 0;
        let mut more = !self.scanner.accept(b'}');
        while more {
            let position = self.key(object, expected)?;
            self.scanner.expect(b':', "':'")?;
            let member = position.and_then(|at| Some((at, object.members.get(at)?, columns.get_mut(at)?)));
            match member {
                None => self.scanner.skip()?,
                Some((at, member, column)) => {
                    let part = || format!(".{}", member.name);
                    if !seen.insert(at) {
                        return Err(RowFault::from("the key occurs twice".to_owned()).inside(part()));
                    }
                    expected = at + 1;
                    self.value(&member.value, column).map_err(|fault| fault.inside(part()))?;
                }
            }
            more = self.scanner.next_item(b'}')?;
        }
        if seen.is_complete(object.members.len()) {
            return Ok(());
        }
        for (at, (member, column)) in object.members.iter().zip(columns).enumerate() {
            if !seen.contains(at) {
                if !member.value.nullable {
                    let fault = RowFault::from("it is missing".to_owned());
                    return Err(fault.inside(format!(".{}", member.name)));
                }
                column.append_null();
            }
        }
        Ok(())
    }

    /// Consumes a key. Returns the index of its member.
    #[inline]
    fn key(&self, object: &Object, expected: usize) -> Result<Option<usize>, Fault> {
        let scanner = &self.scanner;
        scanner.peek();
        if object.members.get(expected).is_some_and(|member| scanner.accept_text(&member.quoted)) {
            return Ok(Some(expected));
        }
        let key = scanner.string("a key")?;
        Ok(object.position(&key, expected))
    }

    fn list<O: OffsetSizeTrait>(
        &mut self,
        items: &ValueType,
        offsets: &mut Vec<O>,
        column: &mut Column,
    ) -> Result<(), RowFault> {
        self.scanner.expect(b'[', "an array")?;
        let mut more = !self.scanner.accept(b']');
        let mut at = 0_usize;
        while more {
            self.budget.spend(items.width)?;
            self.value(items, column).map_err(|fault| fault.inside(format!("[{at}]")))?;
            at += 1;
            more = self.scanner.next_item(b']')?;
        }
        Ok(push_end(offsets, at)?)
    }

    fn map(
        &mut self,
        value_type: &ValueType,
        offsets: &mut Vec<i32>,
        keys: &mut Column,
        values: &mut Column,
    ) -> Result<(), RowFault> {
        self.scanner.expect(b'{', "an object")?;
        let mut seen = Keys::default();
        let mut more = !self.scanner.accept(b'}');
        let mut entries = 0;
        while more {
            let key: Cow<'a, str> = self.scanner.string("a key")?;
            self.scanner.expect(b':', "':'")?;
            let part = || format!("[{:?}]", short(&key));
            self.budget.spend(KEY_BYTES + value_type.width)?;
            self.text(&key, &mut keys.values)?;
            keys.set_valid();
            self.value(value_type, values).map_err(|fault| fault.inside(part()))?;
            if seen.contains(&key) {
                return Err(RowFault::from("the key occurs twice".to_owned()).inside(part()));
            }
            seen.insert(key);
            entries += 1;
            more = self.scanner.next_item(b'}')?;
        }
        Ok(push_end(offsets, entries)?)
    }
}

/// The columns were created with the type, so they match it.
#[cold]
fn mismatch() -> RowFault {
    "its column has another type: this is a bug".to_owned().into()
}
