//! [`NameRule`]: which topics or groups clients may use, by patterns.

use regex::{Regex, RegexSet};

/// Which names are allowed: those that match a pattern of the first list, if it has any, and none of the second.
#[derive(Debug, Clone, Default)]
pub(super) struct NameRule {
    allowed: Option<RegexSet>,
    denied: Option<RegexSet>,
}

impl NameRule {
    /// Reads patterns: regular expressions that match whole names.
    ///
    /// # Errors
    /// A message if a pattern is no regular expression.
    pub(super) fn new(allowed: &[String], denied: &[String]) -> Result<Self, String> {
        Ok(Self { allowed: set_of(allowed)?, denied: set_of(denied)? })
    }

    /// Whether there is no pattern.
    pub(super) fn is_empty(&self) -> bool {
        self.allowed.is_none() && self.denied.is_none()
    }

    /// Whether clients may use the name.
    pub(super) fn allows(&self, name: &str) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.is_match(name))
            && !self.denied.as_ref().is_some_and(|denied| denied.is_match(name))
    }
}

fn set_of(patterns: &[String]) -> Result<Option<RegexSet>, String> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut whole = Vec::new();
    for pattern in patterns {
        let anchored = format!("^(?:{pattern})$");
        // By itself, too, so that no pattern can close the group around it.
        for text in [pattern, &anchored] {
            Regex::new(text).map_err(|error| format!("{pattern:?} is no pattern of whole names: {error}"))?;
        }
        whole.push(anchored);
    }
    RegexSet::new(whole).map(Some).map_err(|error| format!("the patterns are too large: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use super::*;

    fn rule(allowed: &[&str], denied: &[&str]) -> NameRule {
        let owned =
            |patterns: &[&str]| patterns.iter().map(|&pattern| pattern.to_owned()).collect::<Vec<_>>();
        NameRule::new(&owned(allowed), &owned(denied)).unwrap()
    }

    #[test]
    fn patterns_match_whole_names() {
        let rule = rule(&["orders", r"audit-.*|a\.b"], &["audit-secret"]);
        for (name, allowed) in [
            ("orders", true),
            ("orders2", false),
            ("audit-x", true),
            ("a.b", true),
            ("axb", false),
            ("", false),
        ] {
            assert_eq!(rule.allows(name), allowed, "{name}");
        }
        assert!(!rule.allows("audit-secret"));
        assert!(!rule.allows("audit-x\n"));
        assert!(self::rule(&[], &["x"]).allows("y"));
        assert!(NameRule::default().is_empty() && NameRule::default().allows("y"));
    }

    #[test]
    fn a_pattern_that_is_none_is_named() {
        for pattern in ["(", "a)|(b", "[z-a]", "(?x)a # b"] {
            let error = NameRule::new(&[pattern.to_owned()], &[]).unwrap_err();
            assert!(error.starts_with(&format!("{pattern:?} is no pattern of whole names")), "{error}");
        }
    }
}
