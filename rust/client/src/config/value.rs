//! Configuration values as callers pass them, and the types that keys parse them into.

use std::time::Duration;

use ottla_protocol::records::Compression;

/// A value as the caller passed it: always text from Spark, any of these from Python.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Text.
    Str(String),
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A list of texts.
    List(Vec<String>),
}

impl Value {
    /// The value for an error message; a secret is hidden.
    pub(super) fn display(&self, secret: bool) -> String {
        match self {
            _ if secret => "<hidden>".to_owned(),
            Self::Str(text) => format!("{text:?}"),
            Self::Int(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Bool(truth) => truth.to_string(),
            Self::List(items) => format!("{items:?}"),
        }
    }

    pub(super) fn int(&self) -> Result<i64, String> {
        match self {
            Self::Int(number) => Ok(*number),
            Self::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 => Ok(*number as i64),
            Self::Str(text) => text.trim().parse().map_err(|_| "expected a whole number".to_owned()),
            _ => Err("expected a whole number".to_owned()),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

/// A type that a key may have.
pub(super) trait ConfigType: Sized {
    /// The type's name in errors and docs.
    const TYPE: &'static str;
    /// Whether values must never be shown.
    const SECRET: bool = false;
    /// Parses a value. `bounds` applies to numbers; the error says what was expected.
    fn parse(value: &Value, bounds: (i64, i64)) -> Result<Self, String>;
    /// The value as a configuration file would contain it.
    fn to_text(&self) -> String;
}

fn bounded(value: &Value, (min, max): (i64, i64)) -> Result<i64, String> {
    let number = value.int()?;
    if (min..=max).contains(&number) { Ok(number) } else { Err(format!("must be between {min} and {max}")) }
}

impl ConfigType for Duration {
    const TYPE: &'static str = "milliseconds";
    fn parse(value: &Value, bounds: (i64, i64)) -> Result<Self, String> {
        // -1 means "never" where the bounds allow it.
        let millis = bounded(value, bounds)?;
        Ok(u64::try_from(millis).map_or(Self::MAX / 4, Self::from_millis))
    }
    fn to_text(&self) -> String {
        self.as_millis().to_string()
    }
}

macro_rules! number {
    ($($ty:ty),*) => {$(
        impl ConfigType for $ty {
            const TYPE: &'static str = "int";
            fn parse(value: &Value, bounds: (i64, i64)) -> Result<Self, String> {
                bounded(value, bounds)?.try_into().map_err(|_| "out of range".to_owned())
            }
            fn to_text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
number!(i32, u32, usize);

impl ConfigType for bool {
    const TYPE: &'static str = "bool";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        match value {
            Value::Bool(truth) => Ok(*truth),
            Value::Str(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Value::Str(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            _ => Err("expected true or false".to_owned()),
        }
    }
    fn to_text(&self) -> String {
        self.to_string()
    }
}

impl ConfigType for String {
    const TYPE: &'static str = "string";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        match value {
            Value::Str(text) => Ok(text.clone()),
            _ => Err("expected text".to_owned()),
        }
    }
    fn to_text(&self) -> String {
        self.clone()
    }
}

impl ConfigType for Vec<String> {
    const TYPE: &'static str = "list";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        let items: Self = match value {
            Value::Str(text) => text.split(',').map(|item| item.trim().to_owned()).collect(),
            Value::List(items) => items.iter().map(|item| item.trim().to_owned()).collect(),
            _ => return Err("expected a comma-separated text or a list".to_owned()),
        };
        Ok(items.into_iter().filter(|item| !item.is_empty()).collect())
    }
    fn to_text(&self) -> String {
        self.join(",")
    }
}

impl ConfigType for Compression {
    const TYPE: &'static str = "none | gzip | snappy | lz4 | zstd";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        match value {
            Value::Str(text) => text.parse().map_err(|_| format!("expected {}", Self::TYPE)),
            _ => Err(format!("expected {}", Self::TYPE)),
        }
    }
    fn to_text(&self) -> String {
        self.name().to_owned()
    }
}
