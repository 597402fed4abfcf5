//! Suggestions for mistyped names ("did you mean …?").

/// The candidate with the smallest edit distance, if that is at most a third of the word's length (or 2).
pub(super) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.len() / 3).max(2);
    candidates.map(|c| (distance(word, c), c)).filter(|(d, _)| *d <= limit).min().map(|(_, c)| c)
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
    use super::nearest;

    #[test]
    fn finds_the_intended_name_and_nothing_far_fetched() {
        let keys = ["linger.ms", "batch.size", "bootstrap.servers"];
        assert_eq!(nearest("linger.mss", keys.into_iter()), Some("linger.ms"));
        assert_eq!(nearest("bootstrap.server", keys.into_iter()), Some("bootstrap.servers"));
        assert_eq!(nearest("zzzzzz", keys.into_iter()), None);
    }
}
