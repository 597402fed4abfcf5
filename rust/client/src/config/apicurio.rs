//! Which ids Apicurio's serializers write, under the name of their own property.

use super::Value;
use super::value::ConfigType;

/// Which ids Apicurio's serializers write: their property `apicurio.registry.use-id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApicurioUseId {
    /// Ids of contents, which are also those of Confluent's API: the default of the serializers of Apicurio 3.
    ContentId,
    /// Ids of versions of artifacts: the default of the serializers of Apicurio 2.
    GlobalId,
}

impl ConfigType for Option<ApicurioUseId> {
    const TYPE: &'static str = "contentId | globalId";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        match value {
            Value::Str(text) if text.trim().eq_ignore_ascii_case("contentId") => {
                Ok(Some(ApicurioUseId::ContentId))
            }
            Value::Str(text) if text.trim().eq_ignore_ascii_case("globalId") => {
                Ok(Some(ApicurioUseId::GlobalId))
            }
            _ => Err("expected contentId or globalId, as in apicurio.registry.use-id".to_owned()),
        }
    }
    fn to_text(&self) -> String {
        match self {
            None => String::new(),
            Some(ApicurioUseId::ContentId) => "contentId".to_owned(),
            Some(ApicurioUseId::GlobalId) => "globalId".to_owned(),
        }
    }
}
