//! The layouts of messages as data: what the schema notation says of each field.
//!
//! The feature `layout` enables this module. Invariant: a layout has the fields of the message's codec, in its order.

use bytes::Bytes;

use crate::wire::{SecretBytes, Uuid};

/// A type on the wire.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// An integer of 16 bits.
    Int16,
    /// An integer of 32 bits.
    Int32,
    /// Another type of this many bytes.
    Fixed(usize),
    /// A string, whose length has 2 bytes where the version is not flexible.
    String,
    /// Bytes, whose length has 4 bytes where the version is not flexible.
    Bytes,
    /// An array.
    Array(&'static Self),
    /// A struct.
    Struct(&'static [FieldLayout]),
}

/// A field of a struct.
#[derive(Debug)]
pub struct FieldLayout {
    /// The name in snake case.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// The lowest and the highest version that have the field.
    pub versions: (i16, i16),
    /// The lowest and the highest version in which it may be null.
    pub nullable: (i16, i16),
    /// The tag (KIP-482); `u32::MAX` for none.
    pub tag: u32,
}

/// A type that has a layout.
pub trait HasLayout {
    /// The layout.
    const KIND: Kind;
}

macro_rules! layouts {
    ($($ty:ty: $kind:expr,)*) => {$(impl HasLayout for $ty { const KIND: Kind = $kind; })*};
}
layouts! {
    bool: Kind::Fixed(1),
    i8: Kind::Fixed(1),
    i16: Kind::Int16,
    u16: Kind::Fixed(2),
    i32: Kind::Int32,
    u32: Kind::Fixed(4),
    i64: Kind::Fixed(8),
    f64: Kind::Fixed(8),
    Uuid: Kind::Fixed(16),
    String: Kind::String,
    Bytes: Kind::Bytes,
    SecretBytes: Kind::Bytes,
}

impl<T: HasLayout> HasLayout for Vec<T> {
    const KIND: Kind = Kind::Array(&T::KIND);
}

impl<T: HasLayout> HasLayout for Option<T> {
    const KIND: Kind = T::KIND;
}
