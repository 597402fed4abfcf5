//! [`visit_numbers`]: looks into a response without decoding it.
//!
//! The feature `layout` enables this module. Invariant: looking allocates nothing, and takes time in proportion to the
//! bytes that are there, whatever counts and lengths these announce.

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

/// Calls `visit` with each integer of 16 or 32 bits in the response, in order; `body` are its bytes after the
/// correlation id, or their beginning. Returns the length of the response.
///
/// # Errors
/// If the bytes end before the response does, or are malformed; `visit` got the numbers in front of that place.
pub fn visit_numbers(
    api: ApiKey,
    version: i16,
    body: &[u8],
    visit: &mut dyn FnMut(Number),
) -> Result<usize, Stop> {
    let (kind, flexible) = api.response_layout(version);
    let mut walk = Walk { bytes: body, at: 0, version, flexible, visit };
    if api.response_header_version(version) >= 1 {
        walk.tags(&[])?;
    }
    walk.value(kind, false, "")?;
    Ok(walk.at)
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    version: i16,
    flexible: bool,
    visit: &'a mut dyn FnMut(Number),
}

impl Walk<'_> {
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

    /// A length or a count; 0 for null.
    fn length(&mut self, wide: bool) -> Result<usize, Stop> {
        let length = match (self.flexible, wide) {
            (true, _) => i64::from(self.uvarint()?) - 1,
            (false, true) => i64::from(i32::from_be_bytes(self.chunk()?)),
            (false, false) => i64::from(i16::from_be_bytes(self.chunk()?)),
        };
        match length {
            -1 => Ok(0),
            _ => usize::try_from(length).map_err(|_| Stop::Malformed),
        }
    }

    fn number(&mut self, field: &'static str, length: usize, value: i32) {
        (self.visit)(Number { field, at: self.at - length, length, value });
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
            Kind::Fixed(length) => self.skip(length)?,
            Kind::String | Kind::Bytes => {
                let length = self.length(matches!(kind, Kind::Bytes))?;
                self.skip(length)?;
            }
            Kind::Array(item) => {
                for _ in 0..self.length(true)? {
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
                let version = self.version;
                let untagged = fields.iter().filter(|field| field.tag == u32::MAX);
                for field in untagged.filter(|field| within(field.versions, version)) {
                    self.value(field.kind, within(field.nullable, version), field.name)?;
                }
                if self.flexible {
                    self.tags(fields)?;
                }
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
