//! The first ten names of a list, for messages.
//!
//! Invariant: the length of a message does not depend on the number of names.

use std::fmt::Display;

/// The maximum number of names that a message lists.
const MAX_NAMES: usize = 10;

/// The first ten names, and the number of the others: `a, b and 3 more`. Empty without names.
pub(crate) fn first_names<Name: Display>(names: impl IntoIterator<Item = Name>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<String> = names.by_ref().take(MAX_NAMES).map(|name| name.to_string()).collect();
    let shown = shown.join(", ");
    match names.count() {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::first_names;

    #[test]
    fn ten_names_are_listed() {
        assert_eq!(first_names(0..10), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9");
        assert_eq!(first_names(["only"]), "only");
        assert_eq!(first_names([""; 0]), "");
    }

    #[test]
    fn further_names_are_counted() {
        assert_eq!(first_names(0..11), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 1 more");
        assert_eq!(first_names(0..1_000), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 990 more");
    }
}
