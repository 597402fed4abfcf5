//! Suggestions for mistyped names ("did you mean …?").

/// The candidate with the smallest edit distance, if that is at most a third of the word's length (or 2).
pub(super) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.len() / 3).max(2);
    candidates.map(|c| (distance(word, c), c)).filter(|(d, _)| *d <= limit).min().map(|(_, c)| c)
}

/// The key that was meant: the shortest of those whose first part, up to a dot, the word is; otherwise the
/// nearest one. A word of a key is too far from all of it to be the nearest.
pub(super) fn nearest_key<'a>(word: &str, keys: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let begun = keys.clone().filter(|key| key.strip_prefix(word).is_some_and(|rest| rest.starts_with('.')));
    begun.min_by_key(|key| (key.split('.').count(), key.len(), *key)).or_else(|| nearest(word, keys))
}

/// The Levenshtein distance in bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{nearest, nearest_key};

    #[test]
    fn finds_the_intended_name_and_nothing_far_fetched() {
        let keys = ["linger.ms", "batch.size", "bootstrap.servers"];
        assert_eq!(nearest("linger.mss", keys.into_iter()), Some("linger.ms"));
        assert_eq!(nearest("bootstrap.server", keys.into_iter()), Some("bootstrap.servers"));
        assert_eq!(nearest("zzzzzz", keys.into_iter()), None);
    }

    #[test]
    fn the_first_part_of_a_key_stands_for_the_shortest_one() {
        let keys = ["group.instance.id", "group.id", "group.protocol", "linger.ms", "groups"];
        let found = |word| nearest_key(word, keys.into_iter());
        assert_eq!(found("group"), Some("group.id"));
        assert_eq!(found("group.instance"), Some("group.instance.id"));
        assert_eq!(found("linger"), Some("linger.ms"));
        assert_eq!(found("linger.mss"), Some("linger.ms"));
        // Not up to a dot.
        assert_eq!(found("lin"), None);
        assert_eq!(found(""), None);
    }
}
