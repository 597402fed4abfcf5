//! Contexts of a registry: subjects `:.context:subject`, which have ids of their own.
//!
//! Source: Confluent's documentation of schema contexts. Invariant: an id is looked up in the context of its subject,
//! since in another one it is that of another schema.

/// The context of a subject, `:.context:`; `None` if it is the default one.
#[must_use]
pub fn context_of(subject: &str) -> Option<&str> {
    let name = subject.strip_prefix(":.")?.split_once(':')?.0;
    let end = ":.:".len() + name.len();
    if name.is_empty() { None } else { subject.get(..end) }
}

#[cfg(test)]
mod tests {
    use super::context_of;

    #[test]
    fn a_context_is_the_beginning_of_a_qualified_name() {
        let cases = [
            (":.shop:orders-value", Some(":.shop:")),
            (":.shop:", Some(":.shop:")),
            (":.:orders-value", None),
            ("orders-value", None),
            (":.shop", None),
            ("", None),
        ];
        for (subject, context) in cases {
            assert_eq!(context_of(subject), context, "{subject}");
        }
    }
}
