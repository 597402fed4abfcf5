//! Changes of the values of a resource: single keys (KIP-339), or all of them.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use super::key::{ConfigKey, elements};
use crate::state::ApiError;

/// The values set for a resource, by key.
pub(crate) type Values = BTreeMap<String, String>;

/// What happens to the value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Set,
    Delete,
    Append,
    Subtract,
}

/// The change of one key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alteration<'a> {
    pub(crate) key: &'a str,
    pub(crate) operation: Operation,
    /// The new value, or the elements to add or to remove.
    pub(crate) value: &'a str,
}

/// The change of a resource.
#[derive(Debug)]
pub(crate) enum Alterations<'a> {
    /// Keys that are not named keep their values.
    Incremental(Vec<Alteration<'a>>),
    /// Keys that are not named return to their defaults.
    Replacement(Values),
}

impl Operation {
    pub(crate) fn from_code(code: i8) -> Option<Self> {
        Some(match code {
            0 => Self::Set,
            1 => Self::Delete,
            2 => Self::Append,
            3 => Self::Subtract,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Set => "SET",
            Self::Delete => "DELETE",
            Self::Append => "APPEND",
            Self::Subtract => "SUBTRACT",
        }
    }
}

impl Alterations<'_> {
    /// Returns the values after the change. `find` returns the keys of the resource, `not_a_list` the text about a key
    /// that is no list.
    pub(super) fn apply(
        &self,
        before: &Values,
        find: impl Fn(&str) -> Option<&'static ConfigKey>,
        not_a_list: impl Fn(Operation, &str) -> String,
    ) -> Result<Values, ApiError> {
        let alterations = match self {
            Self::Replacement(values) => return Ok(values.clone()),
            Self::Incremental(alterations) => alterations,
        };
        let mut after = before.clone();
        for Alteration { key, operation, value } in alterations {
            match operation {
                Operation::Set => {
                    after.insert((*key).to_owned(), (*value).to_owned());
                }
                Operation::Delete => {
                    after.remove(*key);
                }
                Operation::Append | Operation::Subtract => {
                    let Some(known) = find(key).filter(|known| known.is_list()) else {
                        return Err(ApiError::new(ErrorCode::InvalidConfig, not_a_list(*operation, key)));
                    };
                    let old = after.get(*key).map_or(known.default.unwrap_or_default(), String::as_str);
                    let list = change_list(old, *operation, value);
                    after.insert((*key).to_owned(), list);
                }
            }
        }
        Ok(after)
    }
}

/// The text of the controller about a key that is no list.
pub(super) fn not_a_list(operation: Operation, key: &str) -> String {
    format!("Can't {} to key {key} because its type is not LIST.", operation.name())
}

/// Adds the elements that a list lacks, or removes elements.
fn change_list(old: &str, operation: Operation, value: &str) -> String {
    let mut list: Vec<&str> = elements(old);
    list.retain(|element| !element.is_empty());
    for element in value.split(',') {
        match (operation, list.iter().position(|each| *each == element)) {
            (Operation::Append, None) => list.push(element),
            (Operation::Subtract, Some(index)) => {
                list.remove(index);
            }
            _ => {}
        }
    }
    list.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_and_shrink() {
        assert_eq!(change_list("delete", Operation::Append, "compact,delete"), "delete,compact");
        assert_eq!(change_list("", Operation::Append, "a"), "a");
        assert_eq!(change_list("a,b", Operation::Subtract, "a,c"), "b");
        assert_eq!(change_list("a", Operation::Subtract, "a"), "");
    }
}
