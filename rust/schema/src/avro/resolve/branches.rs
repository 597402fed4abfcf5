//! Chooses the branch of the reader's union that matches a writer's type, like Java's `Resolver`.

use std::collections::HashMap;
use std::sync::Arc;

use super::Resolver;
use crate::avro::schema::{Kind, Record, Schema};
use crate::avro::step::{FieldStep, Step};
use crate::error::SchemaError;

impl Resolver {
    /// Returns the index of the first branch of the same type, with the same name if types of that kind have one.
    /// Otherwise, returns a record of the same structure, preferably of the same simple name, or else the first branch
    /// that the type can be promoted to.
    pub(super) fn matching_branch(
        &mut self,
        writer: &Schema,
        branches: &[Schema],
    ) -> Result<Option<usize>, SchemaError> {
        let mut structure = None;
        for (number, branch) in branches.iter().enumerate() {
            self.count()?;
            match (&writer.kind, &branch.unfolded().kind) {
                (Kind::Enum(one), Kind::Enum(other)) if one.name == other.name => return Ok(Some(number)),
                (Kind::Fixed(one), Kind::Fixed(other)) if one.name == other.name => return Ok(Some(number)),
                (Kind::Record(one), Kind::Record(other)) => {
                    if one.name == other.name {
                        return Ok(Some(number));
                    }
                    let has_name = one.name.simple() == other.name.simple();
                    if self.has_structure(one, other)? && (structure.is_none() || has_name) {
                        structure = Some(number);
                    }
                }
                (Kind::Enum(_) | Kind::Fixed(_), _) => {}
                (one, other) if std::mem::discriminant(one) == std::mem::discriminant(other) => {
                    return Ok(Some(number));
                }
                _ => {}
            }
        }
        let promoted = |branch: &Schema| is_promoted(&writer.kind, &branch.kind);
        Ok(structure.or_else(|| branches.iter().position(promoted)))
    }

    /// Returns whether two records have equal fields. The fields within their fields may differ.
    fn has_structure(&mut self, writer: &Arc<Record>, reader: &Arc<Record>) -> Result<bool, SchemaError> {
        let step = self.resolve_record(writer.whole(), reader.whole())?;
        let record = match step {
            Step::Record(record) => record,
            Step::Recursive(_) => return Ok(true),
            _ => return Ok(false),
        };
        let differs = |field: &FieldStep| matches!(field, FieldStep::Read(_, Step::Mismatch(_)));
        Ok(!record.fields.iter().any(differs))
    }

    /// Returns whether two unions are the same apart from namespaces and logical types.
    pub(super) fn is_equivalent(&mut self, writer: &Schema, reader: &Schema) -> Result<bool, SchemaError> {
        Equivalence { resolver: self, records: HashMap::new() }.holds(writer, reader)
    }
}

fn is_promoted(writer: &Kind, reader: &Kind) -> bool {
    matches!(
        (writer, reader),
        (Kind::Int, Kind::Long | Kind::Float | Kind::Double)
            | (Kind::Long, Kind::Float | Kind::Double)
            | (Kind::Float, Kind::Double)
            | (Kind::String, Kind::Bytes)
            | (Kind::Bytes, Kind::String)
    )
}

struct Equivalence<'a> {
    resolver: &'a mut Resolver,
    /// For pairs of records, by address: whether they are equivalent.
    records: HashMap<(usize, usize), bool>,
}

impl Equivalence<'_> {
    fn holds(&mut self, writer: &Schema, reader: &Schema) -> Result<bool, SchemaError> {
        self.resolver.count()?;
        let (writer, reader) = (&*writer.unfolded(), &*reader.unfolded());
        Ok(match (&writer.kind, &reader.kind) {
            (Kind::Array(one), Kind::Array(other)) | (Kind::Map(one), Kind::Map(other)) => {
                self.holds(one, other)?
            }
            (Kind::Fixed(one), Kind::Fixed(other)) => {
                one.name.simple() == other.name.simple() && one.size == other.size
            }
            (Kind::Enum(one), Kind::Enum(other)) => {
                one.name.simple() == other.name.simple() && one.symbols == other.symbols
            }
            (Kind::Union(one), Kind::Union(other)) => {
                one.len() == other.len() && self.all_hold(one.iter().zip(other.iter()))?
            }
            (Kind::Record(one), Kind::Record(other)) => {
                let (one, other) = (one.whole(), other.whole());
                let pair = (Arc::as_ptr(one).addr(), Arc::as_ptr(other).addr());
                if let Some(known) = self.records.get(&pair) {
                    return Ok(*known);
                }
                // As in Java, a pair within itself is equivalent.
                self.records.insert(pair, true);
                let fields = one.fields.iter().zip(&other.fields);
                let holds = one.name.simple() == other.name.simple()
                    && one.fields.len() == other.fields.len()
                    && fields.clone().all(|(one, other)| one.name == other.name)
                    && self.all_hold(fields.map(|(one, other)| (&one.schema, &other.schema)))?;
                self.records.insert(pair, holds);
                holds
            }
            (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
        })
    }

    fn all_hold<'a>(
        &mut self,
        pairs: impl Iterator<Item = (&'a Schema, &'a Schema)>,
    ) -> Result<bool, SchemaError> {
        for (writer, reader) in pairs {
            if !self.holds(writer, reader)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
