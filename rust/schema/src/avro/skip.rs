//! Skips values that the reader does not have.
//!
//! Invariant: no array item takes zero bytes, so the payload bounds the work.

use super::fault::Fault;
use super::input::Input;
use super::schema::{Kind, Schema};

#[derive(Debug)]
pub(super) enum Skip {
    /// A fixed number of bytes.
    Bytes(usize),
    Int,
    Long,
    /// A length and that many bytes.
    Lengthed,
    Array(Box<Self>),
    Map(Box<Self>),
    Union(Vec<Self>),
    Record(Vec<Self>),
}

impl Skip {
    pub(super) fn over(schema: &Schema) -> Self {
        match &schema.kind {
            Kind::Null => Self::Bytes(0),
            Kind::Boolean => Self::Bytes(1),
            Kind::Float => Self::Bytes(4),
            Kind::Double => Self::Bytes(8),
            Kind::Fixed(fixed) => Self::Bytes(fixed.size),
            Kind::Int | Kind::Enum(_) => Self::Int,
            Kind::Long => Self::Long,
            Kind::Bytes | Kind::String => Self::Lengthed,
            Kind::Array(items) => Self::Array(Box::new(Self::over(items))),
            Kind::Map(values) => Self::Map(Box::new(Self::over(values))),
            Kind::Union(branches) => Self::Union(branches.iter().map(Self::over).collect()),
            Kind::Record(record) => {
                Self::Record(record.fields.iter().map(|field| Self::over(&field.schema)).collect())
            }
        }
    }

    /// The number of steps.
    pub(super) fn size(&self) -> usize {
        1 + match self {
            Self::Array(inner) | Self::Map(inner) => inner.size(),
            Self::Union(parts) | Self::Record(parts) => parts.iter().map(Self::size).sum(),
            Self::Bytes(_) | Self::Int | Self::Long | Self::Lengthed => 0,
        }
    }

    pub(super) fn run(&self, input: &mut Input<'_>) -> Result<(), Fault> {
        match self {
            Self::Bytes(count) => input.take(*count).map(|_| ()),
            Self::Int => input.int().map(|_| ()),
            Self::Long => input.long().map(|_| ()),
            Self::Lengthed => input.bytes().map(|_| ()),
            Self::Array(items) => loop {
                match input.skip_blocks()? {
                    0 => return Ok(()),
                    count => (0..count).try_for_each(|_| items.run(input))?,
                }
            },
            Self::Map(values) => loop {
                match input.skip_blocks()? {
                    0 => return Ok(()),
                    count => (0..count).try_for_each(|_| {
                        input.bytes()?;
                        values.run(input)
                    })?,
                }
            },
            Self::Union(branches) => {
                let number = input.long()?;
                let branch = usize::try_from(number).ok().and_then(|number| branches.get(number));
                branch.ok_or(Fault::Branch(number))?.run(input)
            }
            Self::Record(fields) => fields.iter().try_for_each(|field| field.run(input)),
        }
    }
}
