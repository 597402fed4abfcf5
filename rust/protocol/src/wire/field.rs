//! [`Field`]: reads and writes each type of the schema notation.

use bytes::Bytes;

use super::{Reader, Result, SecretBytes, Uuid, WireError, Writer};

/// Record batches inside a message, as bytes; [`crate::records`] reads them.
pub type Records = Bytes;

/// The context in which a field is read or written.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// The message's version.
    pub version: i16,
    /// Whether the version is flexible: compact lengths and tagged fields (KIP-482).
    pub flexible: bool,
    /// Whether the field may be null in this version.
    pub nullable: bool,
    /// The field as `Struct.field`, for errors.
    pub name: &'static str,
}

impl Context {
    /// Returns the context of a field inside the struct with this context.
    #[must_use]
    pub fn field(self, name: &'static str, nullable: bool) -> Self {
        Self { nullable, name, ..self }
    }

    fn null<T>(self) -> Result<T> {
        Err(WireError::Null { field: self.name, version: self.version })
    }
}

/// A value of the protocol.
pub trait Field: Sized {
    /// Reads the value.
    fn read(r: &mut Reader, cx: Context) -> Result<Self>;
    /// Writes the value.
    fn write(&self, w: &mut Writer, cx: Context) -> Result<()>;
}

/// A value with a null encoding.
pub trait Nullable: Sized {
    /// Reads the value, or null.
    fn read_nullable(r: &mut Reader, cx: Context) -> Result<Option<Self>>;
    /// Writes the value, or null.
    fn write_nullable(value: Option<&Self>, w: &mut Writer, cx: Context) -> Result<()>;
}

macro_rules! fixed {
    ($($ty:ty => $name:ident),* $(,)?) => {$(
        impl Field for $ty {
            fn read(r: &mut Reader, _: Context) -> Result<Self> { r.$name() }
            fn write(&self, w: &mut Writer, _: Context) -> Result<()> { w.$name(*self); Ok(()) }
        }
    )*};
}
fixed!(i8 => i8, i16 => i16, u16 => u16, i32 => i32, u32 => u32, i64 => i64, f64 => f64, Uuid => uuid);

impl Field for bool {
    fn read(r: &mut Reader, _: Context) -> Result<Self> {
        Ok(r.u8()? != 0)
    }
    fn write(&self, w: &mut Writer, _: Context) -> Result<()> {
        w.u8(u8::from(*self));
        Ok(())
    }
}

impl Nullable for String {
    fn read_nullable(r: &mut Reader, cx: Context) -> Result<Option<Self>> {
        r.string(cx.flexible)
    }
    fn write_nullable(value: Option<&Self>, w: &mut Writer, cx: Context) -> Result<()> {
        w.string(value.map(String::as_str), cx.flexible)
    }
}

impl Nullable for Bytes {
    fn read_nullable(r: &mut Reader, cx: Context) -> Result<Option<Self>> {
        r.bytes(cx.flexible)
    }
    fn write_nullable(value: Option<&Self>, w: &mut Writer, cx: Context) -> Result<()> {
        w.bytes(value, cx.flexible)
    }
}

impl Nullable for SecretBytes {
    fn read_nullable(r: &mut Reader, cx: Context) -> Result<Option<Self>> {
        Ok(r.bytes(cx.flexible)?.map(SecretBytes))
    }
    fn write_nullable(value: Option<&Self>, w: &mut Writer, cx: Context) -> Result<()> {
        w.bytes(value.map(|secret| &secret.0), cx.flexible)
    }
}

impl<T: Field> Nullable for Vec<T> {
    fn read_nullable(r: &mut Reader, cx: Context) -> Result<Option<Self>> {
        let Some(count) = r.count(cx.flexible, size_of::<T>())? else { return Ok(None) };
        let cx = Context { nullable: false, ..cx };
        let mut items = Self::with_capacity(count);
        for _ in 0..count {
            items.push(T::read(r, cx)?);
        }
        Ok(Some(items))
    }
    fn write_nullable(value: Option<&Self>, w: &mut Writer, cx: Context) -> Result<()> {
        w.count(value.map(Vec::len), cx.flexible)?;
        let cx = Context { nullable: false, ..cx };
        value.into_iter().flatten().try_for_each(|item| item.write(w, cx))
    }
}

/// Implements [`Field`] for a type through [`Nullable`]; null is an error.
macro_rules! not_null {
    ($({$($generics:tt)*} $ty:ty),* $(,)?) => {$(
        impl<$($generics)*> Field for $ty {
            fn read(r: &mut Reader, cx: Context) -> Result<Self> {
                Self::read_nullable(r, cx)?.map_or_else(|| cx.null(), Ok)
            }
            fn write(&self, w: &mut Writer, cx: Context) -> Result<()> {
                Self::write_nullable(Some(self), w, cx)
            }
        }
    )*};
}
not_null!({} String, {} Bytes, {} SecretBytes, {T: Field} Vec<T>);

impl<T: Nullable> Field for Option<T> {
    fn read(r: &mut Reader, cx: Context) -> Result<Self> {
        match T::read_nullable(r, cx)? {
            None if !cx.nullable => cx.null(),
            value => Ok(value),
        }
    }
    fn write(&self, w: &mut Writer, cx: Context) -> Result<()> {
        if self.is_none() && !cx.nullable {
            return cx.null();
        }
        T::write_nullable(self.as_ref(), w, cx)
    }
}
