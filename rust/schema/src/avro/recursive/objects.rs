//! `AvroObjects`: decodes and encodes objects of a recursive schema, in its own encoding.
//!
//! A union of several types is a map with the name of the member, as in columns: `member0`, `member1` …
//!
//! Invariants: a whole payload is one object. The recursion is bounded by the levels of the input, or counted.

use crate::avro::column::Column;
use crate::avro::fault::Fault;
use crate::avro::input::{Input, MAX_LEVELS};
use crate::avro::output::{append_bytes, append_length};
use crate::avro::parse::{Recursive, parse_reader};
use crate::avro::schema::Schema;
use crate::budget::Budget;
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::payload_encoder::MAX_BYTES;
use crate::registered_schema::RegisteredSchema;
use crate::source::Source;

use super::nodes::{Branch, Compiler, Fields, Leaf, Node};
use super::traits::{ObjectBuilder, ObjectSource};

/// The objects of a recursive schema of Avro.
#[derive(Debug)]
pub struct AvroObjects {
    root: Node,
    records: Vec<Fields>,
    limits: SchemaLimits,
}

impl AvroObjects {
    /// Compiles a schema; `None` if it is not recursive, so that it has columns.
    ///
    /// # Errors
    /// The schema is invalid, or a part of it has no column type.
    pub fn compile(schema: &RegisteredSchema, limits: &SchemaLimits) -> Result<Option<Self>, SchemaError> {
        let limits = limits.bounded();
        let (schema, _) = parse_reader(schema, Recursive::Allowed, &limits)?;
        Self::of(&schema, &limits)
    }

    /// Compiles a schema that was parsed.
    pub(super) fn of(schema: &Schema, limits: &SchemaLimits) -> Result<Option<Self>, SchemaError> {
        let mut compiler = Compiler::new(limits);
        let Some(root) = compiler.node(schema)? else { return Ok(None) };
        let records = compiler.records;
        Ok(Some(Self { root, records, limits: *limits }))
    }

    /// Decodes an object that was resolved to the schema.
    ///
    /// # Errors
    /// Those of the builder, also for malformed bytes.
    pub fn decode<B: ObjectBuilder>(&self, bytes: &[u8], builder: &B) -> Result<B::Object, B::Error> {
        let mut input = Input::new(bytes, Budget::new(self.limits.batch_bytes).row(bytes));
        let object = self.read(&self.root, &mut input, builder).map_err(|failure| failure.into(builder))?;
        if input.is_empty() { Ok(object) } else { Err(builder.malformed(Fault::Rest.to_string())) }
    }

    fn read<B: ObjectBuilder>(
        &self,
        node: &Node,
        input: &mut Input<'_>,
        builder: &B,
    ) -> Result<B::Object, Failure<B::Error>> {
        input.deeper(1, |input| match node {
            Node::Leaf(leaf) => leaf.read(input, builder),
            Node::Record(index) => {
                let fields = self.records.get(*index).ok_or(Fault::Internal)?;
                let mut entries = Vec::with_capacity(fields.len());
                for (name, node) in fields {
                    entries.push((&**name, self.read(node, input, builder)?));
                }
                builder.map(entries).map_err(Failure::Builder)
            }
            Node::Array(node) => {
                let mut items = Vec::new();
                loop {
                    match input.block()? {
                        0 => return builder.list(items).map_err(Failure::Builder),
                        count => {
                            for _ in 0..count {
                                items.push(self.read(node, input, builder)?);
                            }
                        }
                    }
                }
            }
            Node::Map(node) => {
                let mut entries = Vec::new();
                loop {
                    match input.block()? {
                        0 => return builder.map(entries).map_err(Failure::Builder),
                        count => {
                            for _ in 0..count {
                                entries.push((input.text()?, self.read(node, input, builder)?));
                            }
                        }
                    }
                }
            }
            Node::Union(branches) => {
                let number = input.long()?;
                let branch = usize::try_from(number).ok().and_then(|number| branches.get(number));
                match branch.ok_or(Fault::Branch(number))? {
                    Branch::Null => Ok(builder.null()),
                    Branch::Value(None, node) => self.read(node, input, builder),
                    Branch::Value(Some(name), node) => {
                        let value = self.read(node, input, builder)?;
                        builder.map(vec![(name, value)]).map_err(Failure::Builder)
                    }
                }
            }
        })
    }

    /// Appends the encoding of an object.
    ///
    /// # Errors
    /// Those of the object.
    pub fn encode<S: ObjectSource>(&self, object: &S, out: &mut Vec<u8>) -> Result<(), S::Error> {
        self.write(&self.root, object, MAX_LEVELS, out)
    }

    fn write<S: ObjectSource>(
        &self,
        node: &Node,
        object: &S,
        levels: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), S::Error> {
        let Some(levels) = levels.checked_sub(1) else { return Err(object.unfit(Fault::Nested.to_string())) };
        if out.len() > MAX_BYTES {
            return Err(object.unfit("it takes more than 2 GiB".to_owned()));
        }
        match node {
            Node::Leaf(leaf) => leaf.write(object, out),
            Node::Record(index) => {
                let fields = self.records.get(*index).into_iter().flatten();
                for (name, node) in fields {
                    self.write(node, &object.field(name)?, levels, out)?;
                }
                Ok(())
            }
            Node::Array(node) => {
                let items = object.items()?;
                append_count(out, items.len());
                items.iter().try_for_each(|item| self.write(node, item, levels, out))?;
                out.push(0);
                Ok(())
            }
            Node::Map(node) => {
                let entries = object.entries()?;
                append_count(out, entries.len());
                for (key, value) in &entries {
                    append_bytes(out, key.as_bytes());
                    self.write(node, value, levels, out)?;
                }
                out.push(0);
                Ok(())
            }
            Node::Union(branches) => self.write_branch(branches, object, levels, out),
        }
    }

    fn write_branch<S: ObjectSource>(
        &self,
        branches: &[Branch],
        object: &S,
        levels: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), S::Error> {
        for (number, branch) in branches.iter().enumerate() {
            let (node, value) = match branch {
                Branch::Null if object.is_null() => {
                    append_length(out, number);
                    return Ok(());
                }
                Branch::Value(None, node) if !object.is_null() => {
                    append_length(out, number);
                    return self.write(node, object, levels, out);
                }
                Branch::Value(Some(name), node) if !object.is_null() => (node, object.field(name)?),
                Branch::Null | Branch::Value(..) => continue,
            };
            if !value.is_null() {
                append_length(out, number);
                return self.write(node, &value, levels, out);
            }
        }
        Err(object.unfit("it is null, which its type does not allow".to_owned()))
    }
}

/// Writes the number of items of the only block, if there are any.
fn append_count(out: &mut Vec<u8>, count: usize) {
    if count > 0 {
        append_length(out, count);
    }
}

impl Leaf {
    fn read<B: ObjectBuilder>(
        &self,
        input: &mut Input<'_>,
        builder: &B,
    ) -> Result<B::Object, Failure<B::Error>> {
        let array = |error: arrow_schema::ArrowError| Failure::Builder(builder.malformed(error.to_string()));
        let mut column = Column::new(&self.data_type, self.is_nullable, 1).map_err(array)?;
        input.spend(column.width)?;
        self.read.run(&mut column, input)?;
        let column = column.finish(&self.data_type).map_err(array)?;
        builder.value(&column).map_err(Failure::Builder)
    }

    fn write<S: ObjectSource>(&self, object: &S, out: &mut Vec<u8>) -> Result<(), S::Error> {
        let array = object.column(&self.data_type)?;
        let source = Source::new(&array).map_err(|error| object.unfit(error.to_string()))?;
        self.write.run(&source, 0, out).map_err(|failure| object.unfit(failure.describe("")))
    }
}

/// Why an object cannot be decoded.
enum Failure<E> {
    Fault(Fault),
    Builder(E),
}

impl<E> From<Fault> for Failure<E> {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl<E> Failure<E> {
    fn into<B: ObjectBuilder<Error = E>>(self, builder: &B) -> E {
        match self {
            Self::Fault(fault) => builder.malformed(fault.to_string()),
            Self::Builder(error) => error,
        }
    }
}
