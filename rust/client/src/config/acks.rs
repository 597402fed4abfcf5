//! The type of `acks`.

use super::value::{ConfigType, Value};

/// How many replicas must have a record before the broker responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acks {
    /// All in-sync replicas.
    All,
    /// The leader.
    Leader,
    /// None: the broker does not respond.
    None,
}

impl ConfigType for Acks {
    const TYPE: &'static str = "all | 1 | 0";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        match value {
            Value::Str(text) if text == "all" || text == "-1" => Ok(Self::All),
            Value::Str(text) if text == "1" => Ok(Self::Leader),
            Value::Str(text) if text == "0" => Ok(Self::None),
            Value::Int(-1) => Ok(Self::All),
            Value::Int(1) => Ok(Self::Leader),
            Value::Int(0) => Ok(Self::None),
            _ => Err(format!("expected {}", Self::TYPE)),
        }
    }
    fn to_text(&self) -> String {
        match self {
            Self::All => "all",
            Self::Leader => "1",
            Self::None => "0",
        }
        .to_owned()
    }
}
