//! The selected fields of a column: paths of names, separated by dots.
//!
//! A path descends into lists, the values of maps, and nullable values: in `items.price`, `items` may be a list of
//! records. Backquotes enclose a name that contains dots: `` `http.method` ``. Two backquotes stand for one in a name.
//!
//! Invariants: a name that the schema lacks is an error. The columns keep the order of the schema.

use std::collections::BTreeMap;

use crate::error::SchemaError;
use crate::shape::MAX_DEPTH;

/// The largest number of names in an error message.
const MOST_NAMES: usize = 10;
/// The lowest similarity of a suggested name. Equal names have similarity 1.
const LEAST_SIMILARITY: f64 = 0.6;

/// The fields that a column has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    root: Selection,
}

/// The fields of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// The whole value.
    All,
    /// These fields, at least one.
    Fields(BTreeMap<String, Selection>),
}

static ALL: Selection = Selection::All;

impl Projection {
    /// Parses paths. If one path is inside another one, the whole outer field is selected.
    ///
    /// # Errors
    /// A path is malformed, or no path is given.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a str>) -> Result<Self, SchemaError> {
        let mut root = Selection::Fields(BTreeMap::new());
        for path in paths {
            let mut selection = &mut root;
            for name in parse(path)? {
                let Selection::Fields(fields) = selection else { break };
                selection = fields.entry(name).or_insert_with(|| Selection::Fields(BTreeMap::new()));
            }
            *selection = Selection::All;
        }
        match &root {
            Selection::Fields(fields) if fields.is_empty() => Err(invalid("none were given")),
            _ => Ok(Self { root }),
        }
    }

    pub(crate) fn selection(&self) -> &Selection {
        &self.root
    }
}

fn invalid(reason: impl Into<String>) -> SchemaError {
    SchemaError::Fields(reason.into())
}

/// The names of a path.
fn parse(path: &str) -> Result<Vec<String>, SchemaError> {
    let mut names = Vec::new();
    let mut rest = path;
    loop {
        if names.len() == MAX_DEPTH {
            return Err(invalid(format!("{path:?} has more than {MAX_DEPTH} names")));
        }
        let (name, after) = match rest.strip_prefix('`') {
            Some(quoted) => {
                unquote(quoted).ok_or_else(|| invalid(format!("a quote in {path:?} is not closed")))?
            }
            None => {
                let end = rest.find('.').unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                if name.is_empty() {
                    return Err(invalid(format!("{path:?} has an empty name")));
                }
                (name.to_owned(), after)
            }
        };
        names.push(name);
        rest = match after.strip_prefix('.') {
            Some(rest) => rest,
            None if after.is_empty() => return Ok(names),
            None => return Err(invalid(format!("{path:?} lacks a dot after a quoted name"))),
        };
    }
}

/// The name up to its closing quote, and the rest.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (part, after) = rest.split_once('`')?;
        name.push_str(part);
        match after.strip_prefix('`') {
            Some(after) => {
                name.push('`');
                rest = after;
            }
            None => return Some((name, after)),
        }
    }
}

impl Selection {
    pub(crate) fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Returns the selection within a field, or `None` if the field is not selected.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::All => Some(&ALL),
            Self::Fields(fields) => fields.get(name),
        }
    }

    /// Refuses names that the value at `path` has no field for.
    pub(crate) fn check_names<'a>(
        &self,
        path: &str,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), SchemaError> {
        let Self::Fields(fields) = self else { return Ok(()) };
        for name in fields.keys() {
            if names.clone().any(|known| known == name) {
                continue;
            }
            let place = if path.is_empty() { String::new() } else { format!(" in {path}") };
            let similar = similar(name, names.clone());
            let hint = match similar.is_empty() {
                false => format!("similar names are {}", similar.join(", ")),
                true => format!("it has {}", names.take(MOST_NAMES).collect::<Vec<_>>().join(", ")),
            };
            return Err(invalid(format!("there is no field {name:?}{place}; {hint}")));
        }
        Ok(())
    }

    /// Refuses a selection of fields within a value that has none.
    pub(crate) fn check_leaf(&self, path: &str) -> Result<(), SchemaError> {
        let Self::Fields(fields) = self else { return Ok(()) };
        let name = fields.keys().next().map_or("", String::as_str);
        Err(match path {
            "" => invalid(format!("there is no field {name:?}: the values have no fields")),
            path => invalid(format!("there is no field {name:?} in {path}, which has no fields")),
        })
    }
}

/// The path of a field of the value at `path`.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The most similar names, best first.
fn similar<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    let mut similar: Vec<(f64, &str)> = names
        .map(|other| (strsim::normalized_damerau_levenshtein(&wanted, &other.to_lowercase()), other))
        .filter(|(similarity, _)| *similarity >= LEAST_SIMILARITY)
        .collect();
    similar.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.cmp(y)));
    similar.into_iter().take(3).map(|(_, other)| other).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    fn names(path: &str) -> Result<Vec<String>, String> {
        parse(path).map_err(|error| error.to_string())
    }

    #[test]
    fn a_path_is_names_with_dots_and_quotes() {
        assert_eq!(names("a").unwrap(), ["a"]);
        assert_eq!(names("a.b c.ü").unwrap(), ["a", "b c", "ü"]);
        assert_eq!(names("`a.b`.c.`d``e`").unwrap(), ["a.b", "c", "d`e"]);
        assert_eq!(names("a`b").unwrap(), ["a`b"]);
        assert_eq!(names("``.a").unwrap(), ["", "a"]);
        for (path, expected) in [
            ("", "an empty name"),
            ("a.", "an empty name"),
            (".a", "an empty name"),
            ("a..b", "an empty name"),
            ("`a", "a quote in \"`a\" is not closed"),
            ("`a``", "is not closed"),
            ("`a`b", "lacks a dot"),
        ] {
            let error = names(path).unwrap_err();
            assert!(error.starts_with("fields: ") && error.contains(expected), "{path:?}: {error}");
        }
        assert!(names(&"a.".repeat(MAX_DEPTH)).unwrap_err().contains("more than 60 names"));
    }

    #[test]
    fn a_field_wins_over_what_is_within_it() {
        for paths in [&["a", "a.b", "c.d"], &["a.b", "c.d", "a"]] {
            let projection = Projection::new(paths.iter().copied()).unwrap();
            let root = projection.selection();
            assert!(root.get("a").unwrap().is_all());
            assert!(!root.get("c").unwrap().is_all());
            assert!(root.get("c").unwrap().get("d").unwrap().is_all());
            assert_eq!((root.get("b"), root.get("c").unwrap().get("x")), (None, None));
        }
        assert!(Projection::new([]).is_err());
    }

    #[test]
    fn an_unknown_name_is_an_error_with_names_that_are_there() {
        let known = ["customer", "customer_id", "total"];
        let check = |path, name| {
            let projection = Projection::new([name]).unwrap();
            projection.selection().check_names(path, known.into_iter()).map_err(|error| error.to_string())
        };
        assert_eq!(check("", "total"), Ok(()));
        assert_eq!(
            check("", "custmer").unwrap_err(),
            "fields: there is no field \"custmer\"; similar names are customer, customer_id"
        );
        assert_eq!(
            check("a.b", "xyz").unwrap_err(),
            "fields: there is no field \"xyz\" in a.b; it has customer, customer_id, total"
        );
    }
}
