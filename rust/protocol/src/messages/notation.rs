//! The notation of message schemas: the macro `message!`, which generates the types and their codecs.
//!
//! ```text
//! message! {
//!     MetadataRequest: versions 0-13, flexible 9+;
//!
//!     struct MetadataRequest {
//!         topics: Option<Vec<MetadataRequestTopic>> [0+] nullable [1+],
//!         allow_auto_topic_creation: bool [4+] = true,
//!     }
//!     …
//! }
//! ```
//!
//! `[4+]`, `[0-3]` and `[2]` are the versions that have a field; `nullable [1+]` the versions in which
//! it may be null; `tag 0` makes it a tagged field (KIP-482); `= true` is its default. Writing a value
//! other than the default in a version without the field is an error, unless the field is marked
//! `[1+ ignorable]`. Names and order are Kafka's: a test compares every field with the schemas inside
//! the Java client.

/// Whether a version lies in a range of the notation.
macro_rules! in_versions {
    ($v:expr; $lo:literal + $(ignorable)?) => {
        $v >= $lo
    };
    ($v:expr; $lo:literal - $hi:literal $(ignorable)?) => {
        ($lo..=$hi).contains(&$v)
    };
    ($v:expr; $only:literal $(ignorable)?) => {
        $v == $only
    };
    ($v:expr;) => {
        false
    };
}

/// A range of the notation as the lowest and the highest version; none is above the highest.
#[cfg(feature = "layout")]
macro_rules! range_of {
    ($lo:literal + $(ignorable)?) => {
        ($lo, i16::MAX)
    };
    ($lo:literal - $hi:literal $(ignorable)?) => {
        ($lo, $hi)
    };
    ($only:literal $(ignorable)?) => {
        ($only, $only)
    };
    () => {
        (i16::MAX, i16::MIN)
    };
}

/// Whether the version range of a field is marked `ignorable`.
macro_rules! is_ignorable {
    (ignorable) => { true };
    ($head:tt $($rest:tt)*) => { is_ignorable!($($rest)*) };
    () => { false };
}

/// Whether a field has a tag.
macro_rules! is_tagged {
    ($tag:literal) => {
        true
    };
    () => {
        false
    };
}

/// A field's tag; used only for fields that have one.
macro_rules! tag_of {
    ($tag:literal) => {
        $tag
    };
    () => {
        u32::MAX
    };
}

/// Whether a field has the given tag.
macro_rules! is_tag {
    ($read:expr; $tag:literal) => {
        $read == $tag
    };
    ($read:expr;) => {
        false
    };
}

/// A field's name; a keyword of Rust is one without its prefix.
#[cfg(any(feature = "value", feature = "layout"))]
macro_rules! name_of {
    (r#match) => {
        "match"
    };
    ($field:ident) => {
        stringify!($field)
    };
}

/// A field's default.
macro_rules! default_of {
    ($default:expr) => {
        $default
    };
    () => {
        Default::default()
    };
}

/// One struct of the notation: the Rust struct, its default, and its `Field` implementation.
macro_rules! wire_struct {
    ($name:ident { $(
        $field:ident : $ty:ty [$($in:tt)+] $(nullable [$($null:tt)+])? $(tag $tag:literal)? $(= $default:expr)?,
    )* }) => {
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $(pub $field: $ty,)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: default_of!($($default)?),)* }
            }
        }

        impl $crate::wire::Field for $name {
            fn read(r: &mut $crate::wire::Reader, cx: $crate::wire::Context) -> $crate::wire::Result<Self> {
                let mut out = Self::default();
                $(if !is_tagged!($($tag)?) && in_versions!(cx.version; $($in)+) {
                    out.$field = $crate::wire::Field::read(r, cx.field(
                        concat!(stringify!($name), ".", stringify!($field)),
                        in_versions!(cx.version; $($($null)+)?),
                    ))?;
                })*
                if cx.flexible {
                    r.tagged(|tag, r| {
                        let _ = (tag, &r);
                        $(if is_tag!(tag; $($tag)?) && in_versions!(cx.version; $($in)+) {
                            out.$field = $crate::wire::Field::read(r, cx.field(
                                concat!(stringify!($name), ".", stringify!($field)),
                                in_versions!(cx.version; $($($null)+)?),
                            ))?;
                            return Ok(true);
                        })*
                        Ok(false)
                    })?;
                }
                Ok(out)
            }

            fn write(&self, w: &mut $crate::wire::Writer, cx: $crate::wire::Context) -> $crate::wire::Result<()> {
                $(
                    let in_version = in_versions!(cx.version; $($in)+);
                    if in_version && !is_tagged!($($tag)?) {
                        $crate::wire::Field::write(&self.$field, w, cx.field(
                            concat!(stringify!($name), ".", stringify!($field)),
                            in_versions!(cx.version; $($($null)+)?),
                        ))?;
                    } else if !in_version && !is_ignorable!($($in)+) {
                        let default: $ty = default_of!($($default)?);
                        if self.$field != default {
                            return Err($crate::wire::WireError::FieldVersion {
                                field: concat!(stringify!($name), ".", stringify!($field)),
                                version: cx.version,
                            });
                        }
                    }
                )*
                if cx.flexible {
                    #[allow(unused_mut, reason = "most structs have no tagged field")]
                    let mut tagged = Vec::new();
                    $(if is_tagged!($($tag)?) && in_versions!(cx.version; $($in)+) {
                        let default: $ty = default_of!($($default)?);
                        if self.$field != default {
                            let mut value = $crate::wire::Writer::new();
                            $crate::wire::Field::write(&self.$field, &mut value, cx.field(
                                concat!(stringify!($name), ".", stringify!($field)),
                                in_versions!(cx.version; $($($null)+)?),
                            ))?;
                            tagged.push((tag_of!($($tag)?), value));
                        }
                    })*
                    w.tagged(tagged)?;
                }
                Ok(())
            }
        }

        impl $crate::wire::Nullable for $name {
            fn read_nullable(r: &mut $crate::wire::Reader, cx: $crate::wire::Context) -> $crate::wire::Result<Option<Self>> {
                if cx.nullable && r.i8()? < 0 {
                    return Ok(None);
                }
                $crate::wire::Field::read(r, cx).map(Some)
            }

            fn write_nullable(value: Option<&Self>, w: &mut $crate::wire::Writer, cx: $crate::wire::Context) -> $crate::wire::Result<()> {
                if cx.nullable {
                    w.i8(if value.is_some() { 1 } else { -1 });
                }
                value.map_or(Ok(()), |value| $crate::wire::Field::write(value, w, cx))
            }
        }

        #[cfg(feature = "value")]
        impl $crate::value::ToValue for $name {
            fn to_value(&self, version: i16) -> $crate::value::Value {
                $crate::value::Value::Object(vec![$((
                    name_of!($field).into(),
                    (in_versions!(version; $($in)+)).then(|| $crate::value::ToValue::to_value(&self.$field, version)),
                ),)*])
            }
        }

        #[cfg(feature = "value")]
        impl $crate::value::FromValue for $name {
            fn from_value(value: $crate::value::Value) -> Result<Self, $crate::value::ValueError> {
                let mut out = Self::default();
                for (name, value) in $crate::value::fields_of(value)? {
                    match name.as_ref() {
                        $(name_of!($field) => {
                            out.$field = $crate::value::FromValue::from_value(value).map_err(|error| error.in_field(name))?;
                        })*
                        _ => return Err($crate::value::ValueError::unknown_field(name)),
                    }
                }
                Ok(out)
            }
        }

        #[cfg(feature = "layout")]
        impl $crate::layout::HasLayout for $name {
            const KIND: $crate::layout::Kind = $crate::layout::Kind::Struct(&[$($crate::layout::FieldLayout {
                name: name_of!($field),
                kind: <$ty as $crate::layout::HasLayout>::KIND,
                versions: range_of!($($in)+),
                nullable: range_of!($($($null)+)?),
                tag: tag_of!($($tag)?),
            },)*]);
        }

        #[cfg(feature = "schema")]
        impl $name {
            const FIELDS: &'static [$crate::schema::FieldSchema] = &[$($crate::schema::FieldSchema {
                name: name_of!($field),
                ty: stringify!($ty),
                versions: stringify!($($in)+),
                nullable: stringify!($($($null)+)?),
                tag: stringify!($($tag)?),
                default: stringify!($($default)?),
            },)*];
        }
    };
}

/// One message of the notation: its versions, then its structs, the message itself first.
macro_rules! message {
    ($name:ident : versions $min:literal - $max:literal $(, flexible $flexible:literal +)? ;
     $(struct $struct:ident { $($body:tt)* })+) => {
        $(wire_struct! { $struct { $($body)* } })+

        impl $crate::messages::Message for $name {
            const NAME: &'static str = stringify!($name);
            const MIN_VERSION: i16 = $min;
            const MAX_VERSION: i16 = $max;
            const FLEXIBLE: fn(i16) -> bool = |version| {
                let _ = version;
                in_versions!(version; $($flexible +)?)
            };
            #[cfg(feature = "schema")]
            const SCHEMA: $crate::schema::MessageSchema = $crate::schema::MessageSchema {
                name: stringify!($name),
                versions: stringify!($min - $max),
                flexible: stringify!($($flexible +)?),
                structs: &[$((stringify!($struct), $struct::FIELDS),)+],
            };
        }
    };
}
