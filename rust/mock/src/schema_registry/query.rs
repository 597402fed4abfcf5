//! Queries of requests.

use super::state::Listed;

/// The parameters of a request.
#[derive(Debug)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses the part of an address behind the question mark.
    pub(super) fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The values of two parameters that are given the same number of times.
    pub(super) fn pairs(&self, one: &str, other: &str) -> Vec<(&str, &str)> {
        let all = |name: &str| {
            let name = name.to_owned();
            self.0.iter().filter(move |(known, _)| *known == name).map(|(_, value)| value.as_str())
        };
        all(one).zip(all(other)).collect()
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Which versions a listing has.
    pub(super) fn listed(&self) -> Listed {
        match (self.flag("deletedOnly"), self.flag("deleted")) {
            (true, _) => Listed::Deleted,
            (false, true) => Listed::All,
            (false, false) => Listed::Alive,
        }
    }

    /// The part of a list between `offset` and `limit`.
    pub(super) fn page<T>(&self, items: Vec<T>) -> Vec<T> {
        let number = |name| self.text(name).and_then(|text| text.parse::<usize>().ok());
        let (offset, limit) = (number("offset").unwrap_or(0), number("limit").unwrap_or(usize::MAX));
        items.into_iter().skip(offset).take(limit).collect()
    }
}
