//! Names of subjects with a context: `:.context:subject`.

/// The prefix of subjects in all contexts.
const ALL_CONTEXTS: &str = ":*:";

/// The name under which the settings of a subject's context are stored, `:.context:`; `:.:` without a context.
pub(super) fn context_of(subject: &str) -> String {
    let named = subject.strip_prefix(":.").and_then(|rest| rest.split_once(':'));
    format!(":.{}:", named.map_or("", |(context, _)| context))
}

/// The same name without the default context.
pub(super) fn normal_name(subject: &str) -> &str {
    match subject.strip_prefix(":.:") {
        Some(name) if !name.is_empty() => name,
        _ => subject,
    }
}

/// Whether a listing with this prefix has a subject.
pub(super) fn has_prefix(subject: &str, prefix: &str) -> bool {
    match prefix.strip_prefix(ALL_CONTEXTS) {
        Some(rest) => {
            let context = context_of(subject);
            subject.strip_prefix(context.as_str()).unwrap_or(subject).starts_with(rest)
        }
        None => match prefix.strip_prefix(":.:") {
            Some(rest) => context_of(subject) == ":.:" && subject.starts_with(rest),
            None => subject.starts_with(prefix),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_the_beginning_of_a_name() {
        assert_eq!((context_of(":.a:s").as_str(), context_of("s").as_str()), (":.a:", ":.:"));
        assert_eq!((normal_name(":.:s"), normal_name(":.a:s"), normal_name(":.:")), ("s", ":.a:s", ":.:"));
        assert!(has_prefix(":.a:s", ":*:s") && has_prefix("s", ":*:") && has_prefix("s", ":.:s"));
        assert!(has_prefix(":.a:s", ":.a:") && !has_prefix(":.a:s", ":.:") && !has_prefix(":.a:s", "s"));
    }
}
