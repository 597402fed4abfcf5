//! Resolves a writer's schema to a reader's: compiles the steps that decode the writer's data.
//!
//! The rules are those of Java's `Resolver`, which Kafka's deserializers and Spark use. They are more lenient than the
//! specification with the names of records, and a mismatch only fails data that contains the mismatched type.
//!
//! Invariant: the work is bounded. Each pair of records is resolved once, and the number of pairs of types is limited. A
//! pair within itself is taken to match, as in Java.

mod branches;

use std::collections::HashMap;
use std::sync::Arc;

use crate::avro::default_value::encode_field;
use crate::avro::schema::{Enum, Kind, Record, Schema};
use crate::avro::skip_step::{RecursiveSkips, Skip};
use crate::avro::step::{Default, FieldStep, RecordStep, Step};
use crate::avro::{incompatible, unsupported};
use crate::error::SchemaError;
use crate::limits::{DEFAULT_KEY, SchemaLimits};

/// The largest number of types that are compared or skipped.
const MAX_PAIRS: usize = 1_000_000;

/// The steps that read a writer's data.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) step: Step,
    /// The steps of records within themselves, by index.
    pub(super) recursive: Vec<Step>,
    pub(super) skips: RecursiveSkips,
}

/// Compiles the steps that read a writer's data with a reader's schema.
pub(super) fn resolve(
    writer: &Schema,
    reader: &Schema,
    limits: &SchemaLimits,
) -> Result<Resolved, SchemaError> {
    let mut resolver = Resolver { max_defaults: limits.default_bytes, ..Resolver::default() };
    let step = resolver.resolve(writer, reader)?;
    match step.mismatch() {
        Some(reason) => Err(incompatible(&**reason)),
        None => Ok(Resolved { step, recursive: resolver.recursive, skips: resolver.skips }),
    }
}

#[derive(Default)]
pub(super) struct Resolver {
    pairs: usize,
    /// The bytes of the defaults so far.
    defaults: usize,
    /// The maximum bytes of one default, and of all defaults.
    max_defaults: usize,
    /// The steps of pairs of records, by address.
    records: HashMap<(usize, usize), Step>,
    /// The pairs of records that are being resolved, with their indexes if they are within themselves.
    open: HashMap<(usize, usize), Option<usize>>,
    recursive: Vec<Step>,
    skips: RecursiveSkips,
}

impl Resolver {
    /// Counts a comparison of two types.
    pub(super) fn count(&mut self) -> Result<(), SchemaError> {
        self.count_all(1)
    }

    fn count_all(&mut self, pairs: usize) -> Result<(), SchemaError> {
        self.pairs = self.pairs.saturating_add(pairs);
        match self.pairs {
            ..=MAX_PAIRS => Ok(()),
            _ => Err(incompatible("the schemas have too many pairs of types to compare")),
        }
    }

    fn resolve(&mut self, writer: &Schema, reader: &Schema) -> Result<Step, SchemaError> {
        self.count()?;
        let (writer, reader) = (&*writer.unfolded(), &*reader.unfolded());
        let step = match (&writer.kind, &reader.kind) {
            (Kind::Union(branches), _) => return self.resolve_union(branches, writer, reader),
            (_, Kind::Union(branches)) => {
                return match self.matching_branch(writer, branches)? {
                    Some(number) => match branches.get(number) {
                        Some(branch) => self.resolve_in_branch(writer, branch, branches, number),
                        None => Ok(mismatch(writer, reader)),
                    },
                    None => Ok(mismatch(writer, reader)),
                };
            }
            (Kind::Null, Kind::Null) => Step::Null,
            (Kind::Boolean, Kind::Boolean) => Step::Boolean,
            (Kind::Int, Kind::Int | Kind::Long | Kind::Float | Kind::Double) => Step::Int,
            (Kind::Long, Kind::Long | Kind::Float | Kind::Double) => Step::Long,
            (Kind::Float, Kind::Float | Kind::Double) => Step::Float,
            (Kind::Double, Kind::Double) => Step::Double,
            (Kind::Bytes | Kind::String, Kind::Bytes | Kind::String) => Step::Bytes,
            (Kind::Fixed(one), Kind::Fixed(other)) => {
                match one.name.simple() == other.name.simple() && one.size == other.size {
                    true => Step::Fixed(one.size),
                    false => mismatch(writer, reader),
                }
            }
            (Kind::Enum(one), Kind::Enum(other)) => match one.name.simple() == other.name.simple() {
                true => Step::Enum(Arc::new(symbols(one, other))),
                false => mismatch(writer, reader),
            },
            (Kind::Array(one), Kind::Array(other)) => Step::Array(Arc::new(self.resolve(one, other)?)),
            (Kind::Map(one), Kind::Map(other)) => Step::Map(Arc::new(self.resolve(one, other)?)),
            (Kind::Record(one), Kind::Record(other)) => self.resolve_record(one, other)?,
            _ => mismatch(writer, reader),
        };
        match (writer.logical, reader.logical) {
            (Some(one), Some(other)) if !one.has_same_scale(other) => {
                let reason =
                    format!("values of {one} are not values of {other}, and Avro does not convert them");
                Ok(Step::Unreadable(reason.into()))
            }
            _ => Ok(step),
        }
    }

    fn resolve_union(
        &mut self,
        branches: &[Schema],
        writer: &Schema,
        reader: &Schema,
    ) -> Result<Step, SchemaError> {
        let mut steps = Vec::with_capacity(branches.len());
        let same = match &reader.kind {
            Kind::Union(others) if self.is_equivalent(writer, reader)? => Some(others),
            _ => None,
        };
        for (number, branch) in branches.iter().enumerate() {
            let of_same = same.and_then(|others| Some((others, others.get(number)?)));
            steps.push(match of_same {
                Some((others, other)) => self.resolve_in_branch(branch, other, others, number)?,
                None => self.resolve(branch, reader)?,
            });
        }
        Ok(Step::Union(Arc::new(steps)))
    }

    /// Resolves a type to the branch with this index of the reader's union.
    fn resolve_in_branch(
        &mut self,
        writer: &Schema,
        branch: &Schema,
        branches: &[Schema],
        number: usize,
    ) -> Result<Step, SchemaError> {
        if branch.is_selected {
            return Ok(in_branch(branches, number, self.resolve(writer, branch)?));
        }
        Ok(Step::NoMember(Arc::new(self.skip(writer)?)))
    }

    /// Returns the step that skips a value that the reader does not have.
    fn skip(&mut self, writer: &Schema) -> Result<Skip, SchemaError> {
        let skip = Skip::over(writer, &mut self.skips);
        self.count_all(skip.size())?;
        Ok(skip)
    }

    /// Resolves two records, whatever their names.
    pub(super) fn resolve_record(
        &mut self,
        writer: &Arc<Record>,
        reader: &Arc<Record>,
    ) -> Result<Step, SchemaError> {
        let pair = (Arc::as_ptr(writer).addr(), Arc::as_ptr(reader).addr());
        if let Some(step) = self.records.get(&pair) {
            return Ok(step.clone());
        }
        if let Some(index) = self.open.get_mut(&pair) {
            let index = *index.get_or_insert_with(|| {
                self.recursive.push(Step::Null);
                self.recursive.len() - 1
            });
            return Ok(Step::Recursive(index));
        }
        self.open.insert(pair, None);
        let step = self.record_step(writer, reader)?;
        if let Some(index) = self.open.remove(&pair).flatten()
            && let Some(place) = self.recursive.get_mut(index)
        {
            *place = step.clone();
        }
        self.records.insert(pair, step.clone());
        Ok(step)
    }

    fn record_step(&mut self, writer: &Arc<Record>, reader: &Arc<Record>) -> Result<Step, SchemaError> {
        let mut fields = Vec::with_capacity(writer.fields.len());
        for field in &writer.fields {
            let number = reader.by_name.get(&field.name).copied();
            let read = number.and_then(|number| Some((number, reader.fields.get(number)?)));
            fields.push(match read {
                Some((number, other)) => {
                    let step = self.resolve(&field.schema, &other.schema)?;
                    FieldStep::Read(number, step.in_field(&reader.name.0, &field.name))
                }
                None => FieldStep::Skip(self.skip(&field.schema)?),
            });
        }
        let mut defaults = Vec::new();
        let mut missing = None;
        for (number, field) in reader.fields.iter().enumerate() {
            if writer.by_name.contains_key(&field.name) {
                continue;
            }
            if field.default.is_none() {
                missing = Some(field);
                break;
            }
            let bytes = encode_field(&reader.name.0, field, self.max_defaults)?;
            self.defaults = self.defaults.saturating_add(bytes.len());
            if self.defaults > self.max_defaults {
                return Err(unsupported(format!(
                    "the defaults of the fields that are not written have more than {} bytes ({DEFAULT_KEY})",
                    self.max_defaults
                )));
            }
            defaults.push((number, Default { bytes, step: self.resolve(&field.schema, &field.schema)? }));
        }
        Ok(match missing {
            Some(field) => Step::Mismatch(
                format!(
                    "the reader's field {}.{} is not written and has no default",
                    reader.name.0, field.name
                )
                .into(),
            ),
            None => Step::Record(Arc::new(RecordStep { fields, defaults })),
        })
    }
}

/// Returns the step for a value of one branch of the reader's union.
fn in_branch(branches: &[Schema], number: usize, step: Step) -> Step {
    let values = branches.iter().filter(|branch| !branch.is_null()).count();
    let before = branches.iter().take(number);
    let member = before.filter(|branch| !branch.is_null() && branch.is_selected).count();
    match step {
        Step::Mismatch(reason) => Step::Unreadable(reason),
        Step::Null | Step::Unreadable(_) => step,
        step if values == 1 => step,
        step => Step::Member(member, Arc::new(step)),
    }
}

fn mismatch(writer: &Schema, reader: &Schema) -> Step {
    Step::Mismatch(format!("the writer has {}, the reader {}", writer.name(), reader.name()).into())
}

/// Returns the reader's symbol for each of the writer's symbols.
fn symbols(writer: &Enum, reader: &Enum) -> Vec<Option<Arc<str>>> {
    let known: HashMap<&str, &Arc<str>> = reader.symbols.iter().map(|symbol| (&**symbol, symbol)).collect();
    let symbols = writer.symbols.iter();
    symbols.map(|symbol| known.get(&**symbol).copied().or(reader.default.as_ref()).cloned()).collect()
}
