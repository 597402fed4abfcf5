//! Which subjects a listing returns.

/// The context of subjects of all contexts.
const ALL_CONTEXTS: &str = ":*:";

/// Which subjects a listing returns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubjectFilter {
    /// The beginning of their names; `:.context:` for those of a context.
    pub prefix: String,
    /// Whether those are returned, too, of which all versions were deleted softly.
    pub with_deleted: bool,
}

impl SubjectFilter {
    /// Whether a subject begins so, with or without its context.
    pub(super) fn has(&self, subject: &str) -> bool {
        let prefix = self.prefix.strip_prefix(ALL_CONTEXTS).unwrap_or(&self.prefix);
        subject.starts_with(prefix) || without_context(subject).starts_with(prefix)
    }
}

fn without_context(subject: &str) -> &str {
    let named = subject.strip_prefix(":.").and_then(|rest| rest.split_once(':'));
    named.map_or(subject, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_counts_with_or_without_the_context() {
        let has = |prefix: &str, subject: &str| {
            SubjectFilter { prefix: prefix.to_owned(), with_deleted: false }.has(subject)
        };
        assert!(has("", "a") && has("or", "orders") && has("or", ":.ctx:orders"));
        assert!(has(":*:", "orders") && has(":*:or", ":.ctx:orders") && has(":.ctx:", ":.ctx:orders"));
        assert!(!has("or", "views") && !has(":.ctx:", "orders") && !has(":.ctx:v", ":.ctx:orders"));
        assert!(has(":.", ":.") && !has("x", ":.:"));
    }
}
