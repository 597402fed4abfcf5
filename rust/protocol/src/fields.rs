//! [`visit_fields`]: passes over a response in place, and shows its fields to a [`Visitor`].
//!
//! The feature `layout` enables this module. Invariant: looking allocates nothing, and takes time in proportion to the
//! bytes that are there, whatever counts and lengths these announce.

use std::ops::Range;

use crate::api::ApiKey;
use crate::layout::{FieldLayout, Kind};

/// An integer of 16 or 32 bits in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// The name of its field.
    pub field: &'static str,
    /// Its position in the bytes.
    pub at: usize,
    /// Its length in bytes.
    pub length: usize,
    /// Its value.
    pub value: i32,
}

/// Why a message was not passed over to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The bytes have ended.
    Short,
    /// The bytes are no such message.
    Malformed,
}

/// Gets the fields of a response, in order. Each field comes with its name; an element of an array has the array's.
pub trait Visitor {
    /// An integer of 16 or 32 bits.
    fn number(&mut self, number: Number);
    /// A string that is not null.
    fn text(&mut self, _field: &'static str, _at: Range<usize>) {}
    /// Bytes that are not null.
    fn bytes(&mut self, _field: &'static str, _at: Range<usize>) {}
    /// A UUID.
    fn uuid(&mut self, _field: &'static str, _at: Range<usize>) {}
    /// A struct begins.
    fn begin(&mut self, _field: &'static str) {}
    /// The latest struct that has begun ends.
    fn end(&mut self) {}
}

/// Shows the fields of a response to `visitor`; `body` are its bytes after the correlation id, or their beginning.
/// Returns the length of the response. The version must be one that this crate supports.
///
/// # Errors
/// If the bytes end before the response does, or are malformed; the visitor got the fields in front of that place.
pub fn visit_fields<V: Visitor + ?Sized>(
    api: ApiKey,
    version: i16,
    body: &[u8],
    visitor: &mut V,
) -> Result<usize, Stop> {
    let (kind, flexible) = api.response_layout(version);
    let mut walk = Walk { bytes: body, at: 0, version, flexible, visitor };
    if api.response_header_version(version) >= 1 {
        walk.tags(&[])?;
    }
    walk.value(kind, false, "")?;
    Ok(walk.at)
}

/// The length of a UUID, which no other type has.
const UUID: usize = 16;

struct Walk<'a, V: ?Sized> {
    bytes: &'a [u8],
    at: usize,
    version: i16,
    flexible: bool,
    visitor: &'a mut V,
}

impl<V: Visitor + ?Sized> Walk<'_, V> {
    fn skip(&mut self, length: usize) -> Result<(), Stop> {
        match self.bytes.len() - self.at {
            left if left < length => Err(Stop::Short),
            _ => {
                self.at += length;
                Ok(())
            }
        }
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let chunk = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<N>).ok_or(Stop::Short)?;
        self.at += N;
        Ok(*chunk)
    }

    fn uvarint(&mut self) -> Result<u32, Stop> {
        let mut value = 0_u64;
        for shift in (0..35).step_by(7) {
            let [byte] = self.chunk()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| Stop::Malformed);
            }
        }
        Err(Stop::Malformed)
    }

    /// A length or a count; `None` for null.
    fn length(&mut self, wide: bool) -> Result<Option<usize>, Stop> {
        let length = match (self.flexible, wide) {
            (true, _) => i64::from(self.uvarint()?) - 1,
            (false, true) => i64::from(i32::from_be_bytes(self.chunk()?)),
            (false, false) => i64::from(i16::from_be_bytes(self.chunk()?)),
        };
        match length {
            -1 => Ok(None),
            _ => usize::try_from(length).map(Some).map_err(|_| Stop::Malformed),
        }
    }

    fn number(&mut self, field: &'static str, length: usize, value: i32) {
        self.visitor.number(Number { field, at: self.at - length, length, value });
    }

    fn value(&mut self, kind: Kind, nullable: bool, name: &'static str) -> Result<(), Stop> {
        match kind {
            Kind::Int16 => {
                let value = i16::from_be_bytes(self.chunk()?);
                self.number(name, 2, i32::from(value));
            }
            Kind::Int32 => {
                let value = i32::from_be_bytes(self.chunk()?);
                self.number(name, 4, value);
            }
            Kind::Fixed(length) => {
                self.skip(length)?;
                if length == UUID {
                    self.visitor.uuid(name, self.at - length..self.at);
                }
            }
            Kind::String => {
                if let Some(length) = self.length(false)? {
                    self.skip(length)?;
                    self.visitor.text(name, self.at - length..self.at);
                }
            }
            Kind::Bytes => {
                if let Some(length) = self.length(true)? {
                    self.skip(length)?;
                    self.visitor.bytes(name, self.at - length..self.at);
                }
            }
            Kind::Array(item) => {
                for _ in 0..self.length(true)?.unwrap_or(0) {
                    let before = self.at;
                    self.value(*item, false, name)?;
                    // Each item takes bytes, so that a count cannot make this last.
                    if self.at == before {
                        return Err(Stop::Malformed);
                    }
                }
            }
            Kind::Struct(fields) => {
                if nullable && i8::from_be_bytes(self.chunk()?) < 0 {
                    return Ok(());
                }
                self.visitor.begin(name);
                let version = self.version;
                let untagged = fields.iter().filter(|field| field.tag == u32::MAX);
                for field in untagged.filter(|field| within(field.versions, version)) {
                    self.value(field.kind, within(field.nullable, version), field.name)?;
                }
                if self.flexible {
                    self.tags(fields)?;
                }
                self.visitor.end();
            }
        }
        Ok(())
    }

    fn tags(&mut self, fields: &'static [FieldLayout]) -> Result<(), Stop> {
        for _ in 0..self.uvarint()? {
            let tag = self.uvarint()?;
            let size = usize::try_from(self.uvarint()?).map_err(|_| Stop::Malformed)?;
            let known = fields.iter().find(|field| field.tag == tag && within(field.versions, self.version));
            let end = self.at.checked_add(size).ok_or(Stop::Malformed)?;
            match known {
                None => self.skip(size)?,
                Some(field) => {
                    self.value(field.kind, within(field.nullable, self.version), field.name)?;
                    if self.at != end {
                        return Err(Stop::Malformed);
                    }
                }
            }
        }
        Ok(())
    }
}

fn within((lowest, highest): (i16, i16), version: i16) -> bool {
    (lowest..=highest).contains(&version)
}
