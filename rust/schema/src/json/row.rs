//! A payload as a serde value of its type. It is read once, checked, and passed to arrow-json token by token.
//!
//! Invariants: the values match the type exactly, since arrow-json would silently convert others. A value needs no
//! allocation, except for strings with escapes and unusual numbers. The recursion is as deep as the type.

use std::cell::{Cell, RefCell};
use std::fmt::Write;

use serde_core::ser::{Error, SerializeMap, SerializeSeq};
use serde_core::{Serialize, Serializer};

use super::keys::{Keys, Seen};
use super::number::{beyond, decimal, double, float, integer, short};
use super::scanner::{Fault, Scanner};
use super::timestamp::{date, timestamp};
use super::value_type::{Kind, Object, ValueType};
use crate::budget::{ROW_EXCEEDED, RowBudget};

/// The bytes that a map key takes in addition to its text.
const KEY_BYTES: usize = 8;

/// The error of a row, and the path to it in reverse order.
#[derive(Debug, Default)]
struct RowFault {
    reason: Option<Fault>,
    path: Vec<String>,
}

/// A payload, which is exactly one value.
#[derive(Debug)]
pub(super) struct Row<'a> {
    scanner: Scanner<'a>,
    value_type: &'a ValueType,
    budget: Cell<RowBudget>,
    fault: RefCell<RowFault>,
}

impl<'a> Row<'a> {
    pub(super) fn new(
        payload: &'a [u8],
        value_type: &'a ValueType,
        budget: RowBudget,
    ) -> Result<Self, Fault> {
        let (scanner, fault) = (Scanner::new(payload)?, RefCell::default());
        Ok(Self { scanner, value_type, budget: Cell::new(budget), fault })
    }

    /// Returns the column bytes that this row has taken.
    pub(super) fn spent(&self) -> usize {
        self.budget.get().spent()
    }

    /// Takes column bytes from the budget.
    #[inline]
    fn spend<E: Error>(&self, bytes: usize) -> Result<(), E> {
        let mut budget = self.budget.get();
        budget.spend(bytes).map_err(|_| self.fail(ROW_EXCEEDED.to_owned()))?;
        self.budget.set(budget);
        Ok(())
    }

    /// Passes a string to the serializer.
    #[inline]
    fn text<S: Serializer>(&self, text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        self.spend(text.len())?;
        serializer.serialize_str(text)
    }

    /// Returns the reason why serializing failed.
    pub(super) fn into_fault(self) -> Option<Fault> {
        let RowFault { reason, path } = self.fault.into_inner();
        let reason = reason?;
        if path.is_empty() {
            return Some(reason);
        }
        let mut message = "$".to_owned();
        for part in path.iter().rev() {
            message.push_str(part);
        }
        let _ = write!(message, ": {reason}");
        Some(message)
    }

    /// Records the error.
    #[cold]
    fn fail<E: Error>(&self, reason: Fault) -> E {
        self.fault.borrow_mut().reason.get_or_insert(reason);
        E::custom("")
    }

    #[cold]
    fn inside<E>(&self, error: E, part: String) -> E {
        self.fault.borrow_mut().path.push(part);
        error
    }
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.spend(self.value_type.width)?;
        let done = Value { row: self, value_type: self.value_type }.serialize(serializer)?;
        self.scanner.finish().map_err(|reason| self.fail(reason))?;
        Ok(done)
    }
}

/// The value at the scanner's position.
struct Value<'a> {
    row: &'a Row<'a>,
    value_type: &'a ValueType,
}

impl Serialize for Value<'_> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { row, value_type: ValueType { kind, nullable, .. } } = *self;
        let scanner = &row.scanner;
        let fail = |reason| row.fail(reason);
        if scanner.peek() == Some(b'n') {
            scanner.null().map_err(fail)?;
            return match nullable {
                true => serializer.serialize_unit(),
                false => Err(fail("it is null, which its type does not allow".to_owned())),
            };
        }
        match kind {
            Kind::Object(object) => self.object(object, serializer),
            Kind::String => row.text(&scanner.string("a string").map_err(fail)?, serializer),
            Kind::Integer(min, max) => {
                let number = scanner.number("an integer").map_err(fail)?;
                let value = integer(&number).map_err(fail)?;
                if value < *min || value > *max {
                    return Err(fail(beyond(&number, "its type")));
                }
                match i64::try_from(value) {
                    Ok(value) => serializer.serialize_i64(value),
                    Err(_) => serializer.serialize_u64(u64::try_from(value).unwrap_or(u64::MAX)),
                }
            }
            Kind::Double => {
                let value = scanner.number("a number").and_then(|number| double(&number)).map_err(fail)?;
                serializer.serialize_f64(value)
            }
            Kind::Float => {
                let value = scanner.number("a number").and_then(|number| float(&number)).map_err(fail)?;
                serializer.serialize_f32(value)
            }
            Kind::Boolean => serializer.serialize_bool(scanner.boolean().map_err(fail)?),
            Kind::Text => {
                let start = scanner.position();
                scanner.skip().map_err(fail)?;
                row.text(scanner.since(start), serializer)
            }
            Kind::List(items) => self.list(items, serializer),
            Kind::Map(values) => self.map(values, serializer),
            Kind::Decimal(precision, scale) => {
                let value = self.decimal(*precision, *scale).map_err(fail)?;
                serializer.serialize_str(&value)
            }
            Kind::Date => {
                let text = scanner.string("a date").map_err(fail)?;
                let days = date(&text).ok_or_else(|| fail(format!("{:?} is not a date", short(&text))))?;
                serializer.serialize_i32(days)
            }
            Kind::Timestamp { unit, needs_offset } => {
                let text = scanner.string("a timestamp").map_err(fail)?;
                let value = timestamp(&text, *unit, *needs_offset);
                let value = value.ok_or_else(|| {
                    let form = if *needs_offset { "timestamp with an offset" } else { "timestamp" };
                    fail(format!("{:?} is not a {form} within its type's range", short(&text)))
                })?;
                serializer.serialize_i64(value)
            }
        }
    }
}

impl Value<'_> {
    /// Reads a number, or a string that contains one, since many writers preserve all digits in this way.
    fn decimal(&self, precision: u8, scale: u8) -> Result<String, Fault> {
        let scanner = &self.row.scanner;
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

    #[inline]
    fn object<S: Serializer>(&self, object: &Object, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.row;
        let scanner = &row.scanner;
        let fail = |reason| row.fail(reason);
        scanner.expect(b'{', "an object").map_err(fail)?;
        let mut map = serializer.serialize_map(None)?;
        let mut seen = Seen::new(object.members.len());
        let mut expected = 0;
        let mut more = !scanner.accept(b'}');
        while more {
            let position = self.key(object, expected).map_err(fail)?;
            scanner.expect(b':', "':'").map_err(fail)?;
            match position.and_then(|at| Some((at, object.members.get(at)?))) {
                None => scanner.skip().map_err(fail)?,
                Some((at, member)) => {
                    let part = || format!(".{}", member.name);
                    if !seen.insert(at) {
                        return Err(row.inside(fail("the key occurs twice".to_owned()), part()));
                    }
                    expected = at + 1;
                    map.serialize_key(member.name.as_str())?;
                    let value = Value { row, value_type: &member.value };
                    map.serialize_value(&value).map_err(|error| row.inside(error, part()))?;
                }
            }
            more = scanner.next_item(b'}').map_err(fail)?;
        }
        if object.has_required {
            for (at, member) in object.members.iter().enumerate() {
                if !member.value.nullable && !seen.contains(at) {
                    return Err(row.inside(fail("it is missing".to_owned()), format!(".{}", member.name)));
                }
            }
        }
        map.end()
    }

    /// Consumes a key. Returns the index of its member.
    #[inline]
    fn key(&self, object: &Object, expected: usize) -> Result<Option<usize>, Fault> {
        let scanner = &self.row.scanner;
        scanner.peek();
        if object.members.get(expected).is_some_and(|member| scanner.accept_text(&member.quoted)) {
            return Ok(Some(expected));
        }
        let key = scanner.string("a key")?;
        Ok(object.position(&key, expected))
    }

    fn list<S: Serializer>(&self, items: &ValueType, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.row;
        let fail = |reason| row.fail(reason);
        row.scanner.expect(b'[', "an array").map_err(fail)?;
        let mut list = serializer.serialize_seq(None)?;
        let mut more = !row.scanner.accept(b']');
        let mut at = 0_usize;
        while more {
            row.spend(items.width)?;
            let value = Value { row, value_type: items };
            list.serialize_element(&value).map_err(|error| row.inside(error, format!("[{at}]")))?;
            at += 1;
            more = row.scanner.next_item(b']').map_err(fail)?;
        }
        list.end()
    }

    fn map<S: Serializer>(&self, values: &ValueType, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.row;
        let fail = |reason| row.fail(reason);
        row.scanner.expect(b'{', "an object").map_err(fail)?;
        let mut map = serializer.serialize_map(None)?;
        let mut keys = Keys::default();
        let mut more = !row.scanner.accept(b'}');
        while more {
            let key = row.scanner.string("a key").map_err(fail)?;
            row.scanner.expect(b':', "':'").map_err(fail)?;
            let part = || format!("[{:?}]", short(&key));
            row.spend(KEY_BYTES + key.len() + values.width)?;
            map.serialize_key(key.as_ref())?;
            let value = Value { row, value_type: values };
            map.serialize_value(&value).map_err(|error| row.inside(error, part()))?;
            if keys.contains(&key) {
                return Err(row.inside(fail("the key occurs twice".to_owned()), part()));
            }
            keys.insert(key);
            more = row.scanner.next_item(b'}').map_err(fail)?;
        }
        map.end()
    }
}
