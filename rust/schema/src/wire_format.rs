//! The wire formats: a record carries the id of its schema before the payload or in a header.
//!
//! - Confluent: magic byte 0 and four bytes; since Confluent 8, magic byte 1 and a GUID. Confluent 8 looks at the
//!   headers `__key_schema_id` and `__value_schema_id` first.
//! - Apicurio: magic byte 0 and four or eight bytes; or eight bytes in a header, whose name tells the kind of id.
//! - AWS Glue: 3, a compression byte, and a GUID.
//! - None: no id.
//!
//! Invariants: a header takes precedence over bytes before the payload, which then belong to the payload. An id is read
//! back as it was written. Apicurio's ids are below 2^32, so an id of eight bytes begins with four zeros. An id of four
//! bytes does not, because ids count from 1.

use crate::header::Header;
use crate::schema_id::SchemaId;

const MAGIC_ID: u8 = 0;
const MAGIC_GUID: u8 = 1;
const GLUE_VERSION: u8 = 3;
const UNCOMPRESSED: u8 = 0;

/// The place and the encoding of a record's schema id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WireFormat {
    /// The format of Confluent's serializers, also used by Karapace, Redpanda and Apicurio's compatible mode.
    #[default]
    Confluent,
    /// The format of Apicurio's serializers, with ids of four bytes (the default since version 3), of eight bytes, or
    /// in headers.
    Apicurio,
    /// The format of AWS Glue's serializers, without compression.
    Glue,
    /// No id: the payload is the whole value.
    None,
}

/// A value split into the id of its schema and the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framed<'a> {
    /// The id; `None` with [`WireFormat::None`].
    pub id: Option<SchemaId>,
    /// The rest of the header after the id. For Protobuf, the message indexes, or for Apicurio the message name.
    pub header_rest: Option<&'a [u8]>,
    /// The bytes after the id in the value.
    pub payload: &'a [u8],
}

/// The reason why a schema id cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// The value does not begin as the format requires.
    #[error(
        "the value begins with byte {found:#04x}, not with {expected}: it was not written by {serializers}"
    )]
    Magic {
        /// The first byte.
        found: u8,
        /// The bytes that the format allows.
        expected: &'static str,
        /// The serializers that write the format.
        serializers: &'static str,
    },
    /// The value ends within the id.
    #[error("the value has {length} bytes, too few for a schema id")]
    Short {
        /// The length of the value.
        length: usize,
    },
    /// A header does not hold an id.
    #[error("the header {name} has {length} bytes, but an Apicurio id has 8")]
    HeaderLength {
        /// Its name.
        name: &'static str,
        /// The length of its value.
        length: usize,
    },
    /// Avro as JSON text.
    #[error("the value is Avro in JSON (header {0}): only Avro's binary encoding is supported")]
    JsonEncoding(&'static str),
    /// A compressed value of AWS Glue.
    #[error(
        "the value is compressed by AWS Glue's serializer (compression byte {0}), which is not supported"
    )]
    Compressed(u8),
    /// A wire format uses another kind of id.
    #[error("{format} has {expected} in {place}, not {found}")]
    IdKind {
        /// The format.
        format: &'static str,
        /// The kind of id that the format has there.
        expected: &'static str,
        /// Where.
        place: &'static str,
        /// The id.
        found: String,
    },
}

impl WireFormat {
    /// Whether headers may hold the id.
    #[must_use]
    pub fn has_headers(self) -> bool {
        !self.header_names(Header::Value).is_empty()
    }

    /// The names of the headers that decide how a key or a value is [split](Self::split).
    #[must_use]
    pub fn header_names(self, part: Header) -> &'static [&'static str] {
        match (self, part) {
            (Self::Confluent, Header::Key) => const { &[Header::Key.name()] },
            (Self::Confluent, Header::Value) => const { &[Header::Value.name()] },
            (Self::Apicurio, part) => apicurio_headers(part),
            (Self::Glue | Self::None, _) => &[],
        }
    }

    /// Splits a value. `header` returns the value of a header of its record.
    ///
    /// # Errors
    /// Neither the value nor a header holds an id.
    pub fn split<'a>(
        self,
        value: &'a [u8],
        part: Header,
        header: impl Fn(&str) -> Option<&'a [u8]>,
    ) -> Result<Framed<'a>, FramingError> {
        let (id, payload) = match self {
            Self::None => return Ok(Framed { id: None, header_rest: None, payload: value }),
            Self::Confluent => match header(part.name()) {
                Some(header) => {
                    let (id, rest) = confluent_id(header)?;
                    return Ok(Framed { id: Some(id), header_rest: Some(rest), payload: value });
                }
                None => confluent_id(value)?,
            },
            Self::Apicurio => {
                if let Some(id) = apicurio_header_id(part, &header)? {
                    let [.., message] = apicurio_headers(part);
                    return Ok(Framed { id: Some(id), header_rest: header(message), payload: value });
                }
                let rest = after_magic(value, MAGIC_ID, "0", "Apicurio's serializers")?;
                let (short, after) = take::<4>(rest, value)?;
                match u32::from_be_bytes(short) {
                    0 => {
                        let (id, rest) = take(rest, value)?;
                        (SchemaId::Id64(u64::from_be_bytes(id)), rest)
                    }
                    id => (SchemaId::Id64(id.into()), after),
                }
            }
            Self::Glue => {
                let rest = after_magic(value, GLUE_VERSION, "3", "AWS Glue's serializers")?;
                let ([compression], rest) = take::<1>(rest, value)?;
                if compression != UNCOMPRESSED {
                    return Err(FramingError::Compressed(compression));
                }
                let (id, rest) = take(rest, value)?;
                (SchemaId::Guid(id), rest)
            }
        };
        Ok(Framed { id: Some(id), header_rest: None, payload })
    }
}

impl WireFormat {
    /// Returns the bytes before each payload. `message_prefix` is the encoder's prefix.
    ///
    /// # Errors
    /// The format has ids of another kind.
    pub fn prefix(self, id: Option<SchemaId>, message_prefix: &[u8]) -> Result<Vec<u8>, FramingError> {
        let wrong_id = |format, expected| {
            let found = id.map_or_else(|| "none".to_owned(), |id| id.to_string());
            let place = "a prefix";
            Err(FramingError::IdKind { format, expected, place, found })
        };
        let id = match (self, id) {
            (Self::None, _) => return Ok(Vec::new()),
            (Self::Confluent, Some(SchemaId::Id(id))) => [&[MAGIC_ID][..], &id.to_be_bytes()].concat(),
            (Self::Confluent, Some(SchemaId::Guid(guid))) => [&[MAGIC_GUID][..], &guid].concat(),
            (Self::Confluent, _) => return wrong_id("Confluent's format", "an id of 32 bits or a GUID"),
            (Self::Apicurio, Some(SchemaId::Id64(id))) if u32::try_from(id).is_ok() => {
                [&[MAGIC_ID][..], &id.to_be_bytes()].concat()
            }
            (Self::Apicurio, _) => return wrong_id("Apicurio's format", "an id below 2^32 in eight bytes"),
            (Self::Glue, Some(SchemaId::Guid(guid))) => [&[GLUE_VERSION, UNCOMPRESSED][..], &guid].concat(),
            (Self::Glue, _) => return wrong_id("AWS Glue's format", "a GUID"),
        };
        Ok([&id, message_prefix].concat())
    }

    /// Returns the value of the [header](crate::Header::name) that holds the id, instead of a prefix.
    ///
    /// # Errors
    /// The format is not Confluent's, or the id is not a GUID: Confluent's serializers write only GUIDs in a header.
    pub fn header(self, id: Option<SchemaId>, message_prefix: &[u8]) -> Result<Vec<u8>, FramingError> {
        let (format, expected) = match self {
            Self::Confluent => ("Confluent's format", "a GUID"),
            Self::Apicurio => ("Apicurio's format", "no id"),
            Self::Glue => ("AWS Glue's format", "no id"),
            Self::None => ("a format without ids", "no id"),
        };
        match (self, id) {
            (Self::Confluent, Some(SchemaId::Guid(_))) => self.prefix(id, message_prefix),
            (_, id) => {
                let found = id.map_or_else(|| "none".to_owned(), |id| id.to_string());
                Err(FramingError::IdKind { format, expected, place: "a header", found })
            }
        }
    }
}

/// Reads an id in one of Confluent's two forms.
fn confluent_id(bytes: &[u8]) -> Result<(SchemaId, &[u8]), FramingError> {
    let (magic, rest) = bytes.split_first().ok_or(FramingError::Short { length: 0 })?;
    match *magic {
        MAGIC_ID => take(rest, bytes).map(|(id, rest)| (SchemaId::Id(u32::from_be_bytes(id)), rest)),
        MAGIC_GUID => take(rest, bytes).map(|(id, rest)| (SchemaId::Guid(id), rest)),
        found => {
            let serializers = "a serializer for a schema registry";
            Err(FramingError::Magic { found, expected: "0 or 1", serializers })
        }
    }
}

/// Apicurio's headers: the id of a content, the global id, the encoding, and the message of Protobuf.
const fn apicurio_headers(part: Header) -> &'static [&'static str; 4] {
    match part {
        Header::Key => &[
            "apicurio.key.contentId",
            "apicurio.key.globalId",
            "apicurio.key.encoding",
            "apicurio.protobuf.type.key",
        ],
        Header::Value => &[
            "apicurio.value.contentId",
            "apicurio.value.globalId",
            "apicurio.value.encoding",
            "apicurio.protobuf.type",
        ],
    }
}

/// Reads an id of Apicurio's from the headers of a record.
fn apicurio_header_id<'a>(
    part: Header,
    header: &impl Fn(&str) -> Option<&'a [u8]>,
) -> Result<Option<SchemaId>, FramingError> {
    let &[content, global, encoding, _] = apicurio_headers(part);
    let number = |name| {
        let value: Option<&[u8]> = header(name);
        let number = value.map(|value| <[u8; 8]>::try_from(value).map(u64::from_be_bytes));
        let length = value.map_or(0, <[u8]>::len);
        number.transpose().map_err(|_| FramingError::HeaderLength { name, length })
    };
    let id = match number(content)? {
        Some(id) => Some(SchemaId::ContentId(id)),
        None => number(global)?.map(SchemaId::GlobalId),
    };
    // The binary decoder would read the JSON text as another value.
    if id.is_some() && header(encoding) == Some(b"JSON") {
        return Err(FramingError::JsonEncoding(encoding));
    }
    Ok(id)
}

fn after_magic<'a>(
    value: &'a [u8],
    magic: u8,
    expected: &'static str,
    serializers: &'static str,
) -> Result<&'a [u8], FramingError> {
    match value.split_first() {
        Some((found, rest)) if *found == magic => Ok(rest),
        Some((found, _)) => Err(FramingError::Magic { found: *found, expected, serializers }),
        None => Err(FramingError::Short { length: 0 }),
    }
}

fn take<'a, const N: usize>(rest: &'a [u8], value: &[u8]) -> Result<([u8; N], &'a [u8]), FramingError> {
    let (id, rest) = rest.split_first_chunk::<N>().ok_or(FramingError::Short { length: value.len() })?;
    Ok((*id, rest))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    const GUID: [u8; 16] = *b"0123456789abcdef";

    #[test]
    fn confluent_ids_come_before_the_payload() {
        let framed = WireFormat::Confluent.split(&[0, 0, 0, 1, 2, 9, 9], Header::Value, |_| None).unwrap();
        assert_eq!(framed.id, Some(SchemaId::Id(258)));
        assert_eq!((framed.payload, framed.header_rest), (&[9_u8, 9][..], None));
        let value = [&[1_u8][..], &GUID, b"x"].concat();
        let framed = WireFormat::Confluent.split(&value, Header::Value, |_| None).unwrap();
        assert_eq!((framed.id, framed.payload), (Some(SchemaId::Guid(GUID)), &b"x"[..]));
    }

    #[test]
    fn a_header_wins_and_the_whole_value_is_the_payload() {
        let header = [&[1_u8][..], &GUID, &[2, 4]].concat();
        let framed = WireFormat::Confluent.split(&[0, 0, 0, 0, 7], Header::Value, |_| Some(&header)).unwrap();
        assert_eq!(framed.id, Some(SchemaId::Guid(GUID)));
        assert_eq!(framed.payload, [0, 0, 0, 0, 7]);
        assert_eq!(framed.header_rest, Some(&[2_u8, 4][..]));
    }

    #[test]
    fn apicurio_and_glue_have_their_own_ids() {
        let framed =
            WireFormat::Apicurio.split(&[0, 0, 0, 0, 0, 0, 0, 1, 0, 5], Header::Value, |_| None).unwrap();
        assert_eq!((framed.id, framed.payload), (Some(SchemaId::Id64(256)), &[5_u8][..]));
        let framed =
            WireFormat::Apicurio.split(&[0, 0, 0, 1, 0, 5, 0, 0, 0, 0], Header::Value, |_| None).unwrap();
        assert_eq!((framed.id, framed.payload), (Some(SchemaId::Id64(256)), &[5_u8, 0, 0, 0, 0][..]));
        for length in 1..9 {
            let error = WireFormat::Apicurio.split(&[0; 9][..length], Header::Value, |_| None).unwrap_err();
            assert_eq!(error, FramingError::Short { length });
        }
        let value = [&[3_u8, 0][..], &GUID, b"x"].concat();
        let framed = WireFormat::Glue.split(&value, Header::Value, |_| None).unwrap();
        assert_eq!((framed.id, framed.payload), (Some(SchemaId::Guid(GUID)), &b"x"[..]));
        let framed = WireFormat::None.split(b"\x07", Header::Value, |_| Some(b"")).unwrap();
        assert_eq!((framed.id, framed.payload), (None, &b"\x07"[..]));
    }

    #[test]
    fn apicurio_has_ids_in_headers_whose_names_say_their_kind() {
        let id = 7_u64.to_be_bytes();
        for (part, name, expected) in [
            (Header::Key, "apicurio.key.contentId", SchemaId::ContentId(7)),
            (Header::Key, "apicurio.key.globalId", SchemaId::GlobalId(7)),
            (Header::Value, "apicurio.value.contentId", SchemaId::ContentId(7)),
            (Header::Value, "apicurio.value.globalId", SchemaId::GlobalId(7)),
        ] {
            let value = [0, 0, 0, 0, 9];
            let one = |wanted: &str| (wanted == name).then_some(&id[..]);
            let framed = WireFormat::Apicurio.split(&value, part, one).unwrap();
            assert_eq!((framed.id, framed.payload), (Some(expected), &value[..]));
            let short = |wanted: &str| (wanted == name).then_some(&id[..7]);
            let error = WireFormat::Apicurio.split(&value, part, short).unwrap_err();
            assert_eq!(error, FramingError::HeaderLength { name, length: 7 });
            let encoding = format!("apicurio.{}.encoding", part.column());
            for (text, is_refused) in [("JSON", true), ("BINARY", false)] {
                let both = |wanted: &str| one(wanted).or((wanted == encoding).then_some(text.as_bytes()));
                let split = WireFormat::Apicurio.split(&value, part, both);
                assert_eq!(matches!(split, Err(FramingError::JsonEncoding(_))), is_refused);
            }
        }
    }

    #[test]
    fn values_without_an_id_are_errors() {
        let error = WireFormat::Confluent.split(b"{\"a\":1}", Header::Value, |_| None).unwrap_err();
        assert!(error.to_string().contains("begins with byte 0x7b, not with 0 or 1"), "{error}");
        for length in 0..5 {
            let error = WireFormat::Confluent.split(&[0; 5][..length], Header::Value, |_| None).unwrap_err();
            assert_eq!(error, FramingError::Short { length });
        }
        let compressed = [&[3_u8, 5][..], &GUID].concat();
        assert_eq!(
            WireFormat::Glue.split(&compressed, Header::Value, |_| None).unwrap_err(),
            FramingError::Compressed(5)
        );
        assert_eq!(
            WireFormat::Glue.split(&[3], Header::Value, |_| None).unwrap_err(),
            FramingError::Short { length: 1 }
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        for (format, id) in [
            (WireFormat::Confluent, SchemaId::Id(u32::MAX)),
            (WireFormat::Confluent, SchemaId::Guid(GUID)),
            (WireFormat::Apicurio, SchemaId::Id64(u32::MAX.into())),
            (WireFormat::Glue, SchemaId::Guid(GUID)),
        ] {
            let value = [&format.prefix(Some(id), &[]).unwrap()[..], b"x"].concat();
            let framed = format.split(&value, Header::Value, |_| None).unwrap();
            assert_eq!((framed.id, framed.payload), (Some(id), &b"x"[..]));
        }
        assert_eq!(WireFormat::None.prefix(None, &[]), Ok(vec![]));
        let prefix = WireFormat::Confluent.prefix(Some(SchemaId::Id(1)), &[2, 4]);
        assert_eq!(prefix.unwrap(), [0, 0, 0, 0, 1, 2, 4]);
        let header = WireFormat::Confluent.header(Some(SchemaId::Guid(GUID)), &[2, 4]).unwrap();
        let framed = WireFormat::Confluent.split(b"x", Header::Value, |_| Some(&header)).unwrap();
        let expected = Framed { id: Some(SchemaId::Guid(GUID)), header_rest: Some(&[2, 4]), payload: b"x" };
        assert_eq!(framed, expected);
    }

    #[test]
    fn ids_of_another_kind_are_not_written() {
        let id = SchemaId::Id64(7);
        let error = WireFormat::Confluent.prefix(Some(id), &[]).unwrap_err().to_string();
        assert_eq!(error, "Confluent's format has an id of 32 bits or a GUID in a prefix, not 7");
        assert!(WireFormat::Confluent.prefix(None, &[]).unwrap_err().to_string().ends_with(", not none"));
        assert!(WireFormat::Apicurio.prefix(Some(SchemaId::Id(7)), &[]).is_err());
        assert!(WireFormat::Apicurio.prefix(Some(SchemaId::Id64(1 << 32)), &[]).is_err());
        assert!(WireFormat::Glue.prefix(Some(id), &[]).is_err());
        for format in [WireFormat::Apicurio, WireFormat::Glue, WireFormat::None] {
            assert!(format.header(Some(SchemaId::Guid(GUID)), &[]).is_err());
        }
        assert!(WireFormat::Confluent.header(Some(SchemaId::Id(1)), &[]).is_err());
        assert!(WireFormat::Confluent.header(None, &[]).is_err());
    }
}
