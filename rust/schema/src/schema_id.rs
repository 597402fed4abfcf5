//! The identifier by which a record names the schema that it was written with.

use std::fmt;

/// The identifier of a schema in its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SchemaId {
    /// A schema id of Confluent Schema Registry or Karapace.
    Id(u32),
    /// An Apicurio id of a kind that the record does not specify.
    Id64(u64),
    /// An Apicurio content id.
    ContentId(u64),
    /// An Apicurio global id, which identifies a version.
    GlobalId(u64),
    /// A GUID: Confluent 8 stores it in headers; in AWS Glue it is the schema version id.
    Guid([u8; 16]),
}

impl SchemaId {
    /// Parses a GUID of 32 hexadecimal digits, with or without hyphens.
    #[must_use]
    pub fn parse_guid(text: &str) -> Option<[u8; 16]> {
        let digits: Vec<u32> =
            text.chars().filter(|c| *c != '-').map(|c| c.to_digit(16)).collect::<Option<_>>()?;
        let bytes = digits.chunks(2).map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        });
        bytes.collect::<Option<Vec<u8>>>()?.try_into().ok()
    }
}

impl fmt::Display for SchemaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Id64(id) | Self::ContentId(id) | Self::GlobalId(id) => write!(f, "{id}"),
            Self::Guid(guid) => {
                for (at, byte) in guid.iter().enumerate() {
                    if matches!(at, 4 | 6 | 8 | 10) {
                        f.write_str("-")?;
                    }
                    write!(f, "{byte:02x}")?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_is_written_in_groups() {
        let guid: [u8; 16] = std::array::from_fn(|at| u8::try_from(at * 17).unwrap_or(0));
        assert_eq!(SchemaId::Guid(guid).to_string(), "00112233-4455-6677-8899-aabbccddeeff");
        assert_eq!(SchemaId::parse_guid(&SchemaId::Guid(guid).to_string()), Some(guid));
        for text in ["", "0011", "zz112233445566778899aabbccddeeff", "00112233445566778899aabbccddeef"] {
            assert_eq!(SchemaId::parse_guid(text), None);
        }
        assert_eq!(SchemaId::Id(7).to_string(), "7");
        assert_eq!(SchemaId::Id64(u64::MAX).to_string(), "18446744073709551615");
    }
}
