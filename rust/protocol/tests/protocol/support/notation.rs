//! Parses a message's schema from the source text that the notation keeps.

use std::collections::BTreeMap;

use ottla_protocol::schema::{FieldSchema, MessageSchema};

/// Kafka's notation of versions: `3`, `0-5`, `7+`, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) lowest: i16,
    pub(crate) highest: i16,
}

impl Versions {
    pub(crate) const NONE: Self = Self { lowest: 1, highest: 0 };

    pub(crate) fn parse(text: &str) -> Self {
        let text: String = text.split_whitespace().collect();
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("not a version: {text}"));
        if text.is_empty() || text == "none" {
            Self::NONE
        } else if let Some(lowest) = text.strip_suffix('+') {
            Self { lowest: number(lowest), highest: i16::MAX }
        } else if let Some((lowest, highest)) = text.split_once('-') {
            Self { lowest: number(lowest), highest: number(highest) }
        } else {
            Self { lowest: number(&text), highest: number(&text) }
        }
    }

    pub(crate) fn contains(self, version: i16) -> bool {
        (self.lowest..=self.highest).contains(&version)
    }
}

/// The type of a field, without nullability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ty {
    /// A type of fixed width, by its Rust name.
    Fixed(&'static str),
    Str,
    Bytes,
    Array(Box<Ty>),
    Struct(String),
}

const FIXED: [&str; 9] = ["bool", "i8", "i16", "u16", "i32", "u32", "i64", "f64", "Uuid"];

impl Ty {
    fn parse(text: &str) -> Self {
        match text {
            "String" => Self::Str,
            "Bytes" | "SecretBytes" | "Records" => Self::Bytes,
            _ => match (inside(text, "Vec"), FIXED.into_iter().find(|name| *name == text)) {
                (Some(item), _) => Self::Array(Box::new(Self::parse(item))),
                (_, Some(name)) => Self::Fixed(name),
                _ => Self::Struct(text.to_owned()),
            },
        }
    }
}

fn inside<'a>(text: &'a str, generic: &str) -> Option<&'a str> {
    text.strip_prefix(generic)?.strip_prefix('<')?.strip_suffix('>')
}

/// One field.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) ty: Ty,
    /// Whether the Rust type is `Option`.
    pub(crate) optional: bool,
    pub(crate) versions: Versions,
    pub(crate) ignorable: bool,
    pub(crate) nullable: Versions,
    pub(crate) tag: Option<u32>,
    /// As written; empty for the type's own.
    pub(crate) default: String,
}

impl Field {
    fn parse(field: &FieldSchema) -> Self {
        let ty: String = field.ty.split_whitespace().collect();
        let inner = inside(&ty, "Option");
        let versions = field.versions.trim_end_matches("ignorable");
        Self {
            name: field.name,
            ty: Ty::parse(inner.unwrap_or(&ty)),
            optional: inner.is_some(),
            versions: Versions::parse(versions),
            ignorable: versions != field.versions,
            nullable: Versions::parse(field.nullable),
            tag: (!field.tag.is_empty()).then(|| field.tag.parse().unwrap()),
            default: field.default.split_whitespace().collect(),
        }
    }
}

/// One message: its structs by name.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    pub(crate) name: &'static str,
    pub(crate) versions: Versions,
    pub(crate) flexible: Versions,
    pub(crate) structs: BTreeMap<&'static str, Vec<Field>>,
}

impl Schema {
    pub(crate) fn parse(schema: &MessageSchema) -> Self {
        let structs: BTreeMap<_, _> = schema
            .structs
            .iter()
            .map(|(name, fields)| (*name, fields.iter().map(Field::parse).collect()))
            .collect();
        assert_eq!(structs.len(), schema.structs.len(), "{} has two structs of one name", schema.name);
        Self {
            name: schema.name,
            versions: Versions::parse(schema.versions),
            flexible: Versions::parse(schema.flexible),
            structs,
        }
    }

    pub(crate) fn fields(&self, name: &str) -> &[Field] {
        self.structs.get(name).unwrap_or_else(|| panic!("{} has no struct {name}", self.name))
    }
}

/// Converts Kafka's name of a field, `CamelCase` or `camelCase`, to the notation's snake case.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut before = '_';
    for c in name.chars() {
        if c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()) {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
        before = c;
    }
    out
}
