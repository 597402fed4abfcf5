//! Suggestions for a topic name that does not exist, for error messages.

/// Names with a lower similarity are not suggested; 1 is the same name.
const LEAST_SIMILARITY: f64 = 0.6;
const MOST_SUGGESTIONS: usize = 3;

/// The `existing` names most similar to `name`, best first.
pub(crate) fn nearest_names<'a>(name: &str, existing: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    let similar = existing.into_iter().filter_map(|other| {
        let similarity = strsim::normalized_damerau_levenshtein(&wanted, &other.to_lowercase());
        (similarity >= LEAST_SIMILARITY).then_some((similarity, other))
    });
    let mut similar: Vec<(f64, &str)> = similar.collect();
    similar.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.cmp(y)));
    similar.into_iter().take(MOST_SUGGESTIONS).map(|(_, other)| other).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest_names;

    #[test]
    fn the_most_similar_names_come_first() {
        let existing = ["orders", "order-items", "payments", "Orders", "orderz"];
        assert_eq!(nearest_names("ordres", existing), ["Orders", "orders", "orderz"]);
        assert_eq!(nearest_names("ORDERS-ITEMS", existing), ["order-items"]);
        assert!(nearest_names("clicks", existing).is_empty());
    }
}
