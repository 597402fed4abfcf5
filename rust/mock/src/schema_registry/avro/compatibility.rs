//! Whether a reader's schema can read all data of a writer's, by the rules of Java's `SchemaCompatibility`.
//!
//! Invariant: the work is bounded. Each pair of named types is compared once, and depth, comparisons and reported
//! differences are limited; schemas beyond the limits count as incompatible.

use std::collections::{HashMap, HashSet};

use super::super::difference::{Difference, MAX_DIFFERENCES};
use super::{AvroSchema, Field, Kind, Named, Type};

const MAX_DEPTH: usize = 150;
/// Of types, fields and symbols.
const MAX_COMPARISONS: usize = 100_000;

/// What keeps the reader from reading data of the writer; empty if nothing does.
pub(in super::super) fn differences(reader: &AvroSchema, writer: &AvroSchema) -> Vec<Difference> {
    let mut comparison = Comparison { reader, writer, comparisons: 0, depth: 0, pairs: HashMap::new() };
    comparison.compare(&reader.root, &writer.root, "/")
}

struct Comparison<'a> {
    reader: &'a AvroSchema,
    writer: &'a AvroSchema,
    comparisons: usize,
    depth: usize,
    /// The differences of pairs of named types. Those of a pair that is being compared are none yet.
    pairs: HashMap<(usize, usize), Vec<Difference>>,
}

impl Comparison<'_> {
    fn compare(&mut self, reader: &Type, writer: &Type, at: &str) -> Vec<Difference> {
        self.count(1);
        if self.depth >= MAX_DEPTH || self.is_exhausted() {
            return vec![Difference::too_large(at)];
        }
        self.depth += 1;
        let mut found = self.compare_types(reader, writer, at);
        self.depth -= 1;
        // A type that is used twice has its differences twice.
        found.truncate(MAX_DIFFERENCES);
        found
    }

    fn count(&mut self, comparisons: usize) {
        self.comparisons = self.comparisons.saturating_add(comparisons);
    }

    fn is_exhausted(&self) -> bool {
        self.comparisons > MAX_COMPARISONS
    }

    fn compare_types(&mut self, reader: &Type, writer: &Type, at: &str) -> Vec<Difference> {
        match (reader, writer) {
            (_, Type::Union(branches)) => {
                let is_union = matches!(reader, Type::Union(_));
                let mut found = Vec::new();
                for branch in branches {
                    let differences = self.compare(reader, branch, at);
                    if self.is_exhausted() {
                        return differences;
                    }
                    if is_union && !differences.is_empty() {
                        found.push(self.missing_branch(branch, at));
                    } else {
                        found.extend(differences);
                    }
                }
                found
            }
            (Type::Union(branches), _) => {
                for branch in branches {
                    let differences = self.compare(branch, writer, at);
                    if differences.is_empty() || self.is_exhausted() {
                        return differences;
                    }
                }
                vec![self.missing_branch(writer, at)]
            }
            (Type::Null, Type::Null)
            | (Type::Boolean, Type::Boolean)
            | (Type::Int, Type::Int)
            | (Type::Long, Type::Int | Type::Long)
            | (Type::Float, Type::Int | Type::Long | Type::Float)
            | (Type::Double, Type::Int | Type::Long | Type::Float | Type::Double)
            | (Type::Bytes | Type::String, Type::Bytes | Type::String) => Vec::new(),
            (Type::Array(items), Type::Array(others)) => self.compare(items, others, &below(at, "items")),
            (Type::Map(values), Type::Map(others)) => self.compare(values, others, &below(at, "values")),
            (Type::Named(one), Type::Named(other)) => self.compare_named(*one, *other, at),
            _ => vec![self.mismatch(reader, writer, at)],
        }
    }

    fn compare_named(&mut self, one: usize, other: usize, at: &str) -> Vec<Difference> {
        if let Some(found) = self.pairs.get(&(one, other)) {
            return found.clone();
        }
        // A type that contains itself is compatible if nothing else differs.
        self.pairs.insert((one, other), Vec::new());
        let (reader, writer) = (self.reader, self.writer);
        let mut found = match (reader.named.get(one), writer.named.get(other)) {
            (Some(one), Some(other)) => self.compare_definitions(one, other, at),
            _ => Vec::new(),
        };
        found.truncate(MAX_DIFFERENCES);
        self.pairs.insert((one, other), found.clone());
        found
    }

    fn compare_definitions(&mut self, reader: &Named, writer: &Named, at: &str) -> Vec<Difference> {
        let mut found = Vec::new();
        if reader.simple_name() != writer.simple_name() && !reader.aliases.contains(&writer.name) {
            let names = format!("the reader's is \"{}\", the writer's \"{}\"", reader.name, writer.name);
            found.push(Difference::new("NAME_MISMATCH", below(at, "name"), names));
        }
        match (&reader.kind, &writer.kind) {
            (Kind::Record(fields), Kind::Record(others)) => {
                self.count(others.len());
                let others = others.iter().map(|field| (field.name.as_str(), field)).collect();
                for (number, field) in fields.iter().enumerate() {
                    let at = below(at, &format!("fields/{number}"));
                    found.extend(self.compare_field(field, &others, &at));
                    if self.is_exhausted() {
                        break;
                    }
                }
            }
            (Kind::Enum { symbols, default }, Kind::Enum { symbols: others, .. }) => {
                self.count(others.len());
                let mut missing: Vec<&str> = others.difference(symbols).map(String::as_str).collect();
                missing.sort_unstable();
                if !missing.is_empty() && default.is_none() {
                    let at = below(at, "symbols");
                    let reason = format!("the reader lacks {}", missing.join(", "));
                    found.push(Difference::new("MISSING_ENUM_SYMBOLS", at, reason));
                }
            }
            (Kind::Fixed(size), Kind::Fixed(other)) if size == other => {}
            (Kind::Fixed(size), Kind::Fixed(other)) => {
                let sizes = format!("the reader's is {size}, the writer's {other}");
                found.push(Difference::new("FIXED_SIZE_MISMATCH", below(at, "size"), sizes));
            }
            _ => {
                let kinds = format!("\"{}\" and \"{}\" are of different kinds", reader.name, writer.name);
                return vec![Difference::new("TYPE_MISMATCH", at, kinds)];
            }
        }
        found
    }

    fn compare_field(&mut self, field: &Field, others: &HashMap<&str, &Field>, at: &str) -> Vec<Difference> {
        self.count(field.aliases.len().saturating_add(1));
        let names: HashSet<&str> =
            std::iter::once(&field.name).chain(&field.aliases).map(String::as_str).collect();
        let written: Vec<&Field> = names.iter().filter_map(|name| others.get(name).copied()).collect();
        match written.as_slice() {
            [written] => self.compare(&field.schema, &written.schema, &below(at, "type")),
            [] if field.default.is_some() => Vec::new(),
            [] => {
                let reason = format!("the writer lacks the field \"{}\", and it has no default", field.name);
                vec![Difference::new("READER_FIELD_MISSING_DEFAULT_VALUE", at, reason)]
            }
            _ => {
                let reason = format!("several fields of the writer are the field \"{}\"", field.name);
                vec![Difference::new("AMBIGUOUS_FIELD", at, reason)]
            }
        }
    }

    fn missing_branch(&self, writer: &Type, at: &str) -> Difference {
        let name = writer.name(&self.writer.named);
        let reason = format!("the reader's union has no type for the writer's \"{name}\"");
        Difference::new("MISSING_UNION_BRANCH", at, reason)
    }

    fn mismatch(&self, reader: &Type, writer: &Type, at: &str) -> Difference {
        let (one, other) = (reader.name(&self.reader.named), writer.name(&self.writer.named));
        let reason = format!("the reader's is \"{one}\", the writer's \"{other}\"");
        Difference::new("TYPE_MISMATCH", at, reason)
    }
}

fn below(at: &str, part: &str) -> String {
    format!("{}/{part}", at.trim_end_matches('/'))
}
