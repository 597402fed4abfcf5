//! A configuration key: its type, its default, and the values that it takes.
//!
//! Invariant: a message about an invalid value is Kafka's.

use std::borrow::Cow;

/// The type of a value, with its code in responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigType {
    Boolean = 1,
    String = 2,
    Int = 3,
    Short = 4,
    Long = 5,
    Double = 6,
    List = 7,
    Class = 8,
    Password = 9,
}

/// The values of a type that a key takes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Valid {
    Any,
    AtLeast(i64),
    Between(i64, i64),
    /// 1 to 9, or -1.
    GzipLevel,
    /// One of these words; of a list, each element.
    OneOf(&'static [&'static str]),
    /// `*`, or a list of partitions with replicas.
    ThrottledReplicas,
    /// `earliest`, `latest`, or a duration.
    OffsetReset,
}

/// A key that Kafka knows.
#[derive(Debug)]
pub(crate) struct ConfigKey {
    pub(crate) name: &'static str,
    pub(crate) kind: ConfigType,
    pub(super) default: Option<&'static str>,
    pub(super) valid: Valid,
    /// The broker's key that has the default, of a key of a topic or a group.
    pub(super) synonym: Option<&'static str>,
}

impl ConfigKey {
    pub(super) const fn new(
        name: &'static str,
        kind: ConfigType,
        default: &'static str,
        valid: Valid,
    ) -> Self {
        Self { name, kind, default: Some(default), valid, synonym: None }
    }

    /// A key without a default.
    pub(super) const fn unset(name: &'static str, kind: ConfigType) -> Self {
        Self { name, kind, default: None, valid: Valid::Any, synonym: None }
    }

    pub(super) const fn of_broker(mut self, synonym: &'static str) -> Self {
        self.synonym = Some(synonym);
        self
    }

    pub(super) fn is_list(&self) -> bool {
        self.kind == ConfigType::List
    }

    /// Whether responses hide the value.
    pub(crate) fn is_sensitive(&self) -> bool {
        self.kind == ConfigType::Password
    }

    /// Returns the value as Kafka shows it, or the message about an invalid one.
    pub(super) fn parse<'a>(&self, value: &'a str) -> Result<Cow<'a, str>, String> {
        let trimmed = value.trim();
        match self.kind {
            ConfigType::Boolean => {
                let lower = trimmed.to_ascii_lowercase();
                if !matches!(lower.as_str(), "true" | "false") {
                    return Err(self.invalid(value, "Expected value to be either true or false"));
                }
                Ok(lower.into())
            }
            ConfigType::Int => self.parse_integer(value, "INT", i64::from(i32::MIN), i64::from(i32::MAX)),
            ConfigType::Short => self.parse_integer(value, "SHORT", i64::from(i16::MIN), i64::from(i16::MAX)),
            ConfigType::Long => self.parse_integer(value, "LONG", i64::MIN, i64::MAX),
            ConfigType::Double => self.parse_double(trimmed),
            ConfigType::List => self.parse_list(trimmed),
            ConfigType::String | ConfigType::Class | ConfigType::Password => self.parse_string(trimmed),
        }
    }

    fn invalid(&self, value: &str, reason: &str) -> String {
        let name = self.name;
        format!("Invalid value {value} for configuration {name}: {reason}")
    }

    fn parse_integer<'a>(
        &self,
        value: &'a str,
        kind: &str,
        min: i64,
        max: i64,
    ) -> Result<Cow<'a, str>, String> {
        let number: Option<i64> = value.trim().parse().ok();
        let Some(number) = number.filter(|number| (min..=max).contains(number)) else {
            return Err(self.invalid(value, &format!("Not a number of type {kind}")));
        };
        let shown = number.to_string();
        match self.valid {
            Valid::AtLeast(least) | Valid::Between(least, _) if number < least => {
                Err(self.invalid(&shown, &format!("Value must be at least {least}")))
            }
            Valid::Between(_, most) if number > most => {
                Err(self.invalid(&shown, &format!("Value must be no more than {most}")))
            }
            Valid::GzipLevel if number != -1 && !(1..=9).contains(&number) => {
                Err(self.invalid(&shown, "Value must be between 1 and 9 or equal to -1"))
            }
            _ => Ok(shown.into()),
        }
    }

    fn parse_double<'a>(&self, trimmed: &'a str) -> Result<Cow<'a, str>, String> {
        let Ok(number) = trimmed.parse::<f64>() else {
            return Err(self.invalid(trimmed, "Not a number of type DOUBLE"));
        };
        // The limits of doubles in Kafka's tables are 0 and 1.
        match self.valid {
            Valid::Between(least, _) if number < 0.0 => {
                Err(self.invalid(&format!("{number:?}"), &format!("Value must be at least {least}")))
            }
            Valid::Between(_, most) if number > 1.0 => {
                Err(self.invalid(&format!("{number:?}"), &format!("Value must be no more than {most}")))
            }
            _ => Ok(trimmed.into()),
        }
    }

    fn parse_list<'a>(&self, trimmed: &'a str) -> Result<Cow<'a, str>, String> {
        let elements = elements(trimmed);
        match self.valid {
            Valid::OneOf(words) => {
                if let Some(unknown) = elements.iter().find(|element| !words.contains(element)) {
                    return Err(self.must_be_one_of(unknown, words));
                }
            }
            Valid::ThrottledReplicas if !are_throttled_replicas(&elements) => {
                let name = self.name;
                let reason = format!(
                    "{name} must be the literal '*' or a list of replicas in the following format: \
                     [partitionId]:[brokerId],[partitionId]:[brokerId],..."
                );
                return Err(self.invalid(&format!("[{}]", elements.join(", ")), &reason));
            }
            _ => {}
        }
        Ok(elements.join(",").into())
    }

    fn parse_string<'a>(&self, trimmed: &'a str) -> Result<Cow<'a, str>, String> {
        match self.valid {
            Valid::OneOf(words) if !words.contains(&trimmed) => Err(self.must_be_one_of(trimmed, words)),
            Valid::OffsetReset if !is_offset_reset(trimmed) => {
                let name = self.name;
                let reason = format!(
                    "Invalid value `{trimmed}` for configuration {name}. The value must be either 'earliest', \
                     'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
                );
                Err(self.invalid(trimmed, &reason))
            }
            _ => Ok(trimmed.into()),
        }
    }

    fn must_be_one_of(&self, value: &str, words: &[&str]) -> String {
        self.invalid(value, &format!("String must be one of: {}", words.join(", ")))
    }
}

/// The elements of a list; an empty value has none.
pub(super) fn elements(list: &str) -> Vec<&str> {
    let trimmed = list.trim();
    if trimmed.is_empty() { Vec::new() } else { trimmed.split(',').map(str::trim).collect() }
}

fn are_throttled_replicas(elements: &[&str]) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_replica = |element: &&str| {
        element.split_once(':').is_some_and(|(partition, broker)| is_number(partition) && is_number(broker))
    };
    matches!(elements, [""] | ["*"]) || elements.iter().all(is_replica)
}

fn is_offset_reset(value: &str) -> bool {
    match value.strip_prefix("by_duration:") {
        Some(duration) => duration.len() > 1 && duration.starts_with('P'),
        None => matches!(value, "earliest" | "latest"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(kind: ConfigType, valid: Valid, value: &str) -> Result<String, String> {
        ConfigKey::new("k", kind, "", valid).parse(value).map(Cow::into_owned)
    }

    #[test]
    fn values_are_shown_as_kafka_shows_them() {
        let cases = [
            (ConfigType::Long, Valid::AtLeast(-1), " 77 ", "77"),
            (ConfigType::Boolean, Valid::Any, "TRUE", "true"),
            (ConfigType::List, Valid::OneOf(&["a", "b"]), " a , b", "a,b"),
            (ConfigType::List, Valid::OneOf(&["a", "b"]), "", ""),
            (ConfigType::Double, Valid::Between(0, 1), "0.5", "0.5"),
        ];
        for (kind, valid, value, shown) in cases {
            assert_eq!(parse(kind, valid, value), Ok(shown.to_owned()));
        }
    }

    #[test]
    fn messages_about_invalid_values_are_kafkas() {
        let cases = [
            (ConfigType::Long, Valid::Any, "soon", "soon", "Not a number of type LONG"),
            (ConfigType::Int, Valid::Any, "9999999999", "9999999999", "Not a number of type INT"),
            (ConfigType::Long, Valid::AtLeast(-1), "-5", "-5", "Value must be at least -1"),
            (ConfigType::Int, Valid::Between(1, 17), "18", "18", "Value must be no more than 17"),
            (ConfigType::Int, Valid::GzipLevel, "0", "0", "Value must be between 1 and 9 or equal to -1"),
            (ConfigType::Boolean, Valid::Any, "yes", "yes", "Expected value to be either true or false"),
            (ConfigType::List, Valid::OneOf(&["a", "b"]), "a,c", "c", "String must be one of: a, b"),
            (ConfigType::Double, Valid::Between(0, 1), "2", "2.0", "Value must be no more than 1"),
        ];
        for (kind, valid, value, shown, reason) in cases {
            let message = format!("Invalid value {shown} for configuration k: {reason}");
            assert_eq!(parse(kind, valid, value), Err(message));
        }
    }

    #[test]
    fn throttled_replicas_and_offset_resets_have_formats() {
        let replicas = |value| parse(ConfigType::List, Valid::ThrottledReplicas, value).is_ok();
        assert!(["", "*", "0:1", "0:1,1:2"].into_iter().all(replicas));
        assert!(!["foo", "1", "0:1,*", "0:"].into_iter().any(replicas));
        let reset = |value| parse(ConfigType::String, Valid::OffsetReset, value).is_ok();
        assert!(["earliest", "latest", "by_duration:PT1H"].into_iter().all(reset));
        assert!(!["foo", "by_duration:", "by_duration:P"].into_iter().any(reset));
    }
}
