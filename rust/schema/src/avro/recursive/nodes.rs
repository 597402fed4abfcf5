//! A schema as a graph of nodes: records within themselves, and between them leaves that are columns.
//!
//! Invariant: each record is compiled once, and refers to others by their indexes.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::DataType;

use crate::avro::column::Column;
use crate::avro::column_type::{column_type, member_name};
use crate::avro::encoder::{ROOT, WriteStep, compile};
use crate::avro::resolve::resolve;
use crate::avro::schema::{Kind, Record, Schema};
use crate::avro::step::Step;
use crate::avro::{FORMAT, unsupported};
use crate::error::SchemaError;
use crate::limits::{SchemaLimits, check_row_bytes};

#[derive(Debug)]
pub(super) enum Node {
    Leaf(Box<Leaf>),
    /// The index of a record.
    Record(usize),
    Array(Box<Self>),
    Map(Box<Self>),
    Union(Vec<Branch>),
}

/// A branch of a union.
#[derive(Debug)]
pub(super) enum Branch {
    Null,
    /// A value, with the name of its member if there are several.
    Value(Option<String>, Node),
}

/// A type without recursion.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) data_type: DataType,
    pub(super) is_nullable: bool,
    pub(super) read: Step,
    pub(super) write: WriteStep,
}

/// The fields of a record.
pub(super) type Fields = Vec<(Arc<str>, Node)>;

#[derive(Debug)]
pub(super) struct Compiler<'a> {
    pub(super) limits: &'a SchemaLimits,
    pub(super) records: Vec<Fields>,
    /// By address: the index of a record, or `None` if there is no recursion in it.
    known: HashMap<usize, Option<usize>>,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(limits: &'a SchemaLimits) -> Self {
        Self { limits, records: Vec::new(), known: HashMap::new() }
    }

    /// Compiles a schema; `None` if there is no recursion in it.
    pub(super) fn node(&mut self, schema: &Schema) -> Result<Option<Node>, SchemaError> {
        Ok(match &schema.kind {
            Kind::Array(items) => self.node(items)?.map(|items| Node::Array(Box::new(items))),
            Kind::Map(values) => self.node(values)?.map(|values| Node::Map(Box::new(values))),
            Kind::Record(record) => self.record(record)?.map(Node::Record),
            Kind::Recursive(of) => {
                let record = of.record().ok_or_else(|| unsupported("a record is not defined"))?;
                self.record(&record)?.map(Node::Record)
            }
            Kind::Union(branches) => self.union(branches)?,
            _ => None,
        })
    }

    fn record(&mut self, record: &Arc<Record>) -> Result<Option<usize>, SchemaError> {
        let address = Arc::as_ptr(record).addr();
        if let Some(known) = self.known.get(&address) {
            return Ok(*known);
        }
        let index = self.records.len();
        self.records.push(Vec::new());
        self.known.insert(address, Some(index));
        let nodes: Vec<_> =
            record.fields.iter().map(|field| self.node(&field.schema)).collect::<Result<_, _>>()?;
        if nodes.iter().all(Option::is_none) {
            self.known.insert(address, None);
            return Ok(None);
        }
        let fields = record.fields.iter().zip(nodes).map(|(field, node)| {
            let node = node.map_or_else(|| self.leaf(&field.schema), Ok)?;
            Ok((Arc::clone(&field.name), node))
        });
        let fields = fields.collect::<Result<_, SchemaError>>()?;
        if let Some(place) = self.records.get_mut(index) {
            *place = fields;
        }
        Ok(Some(index))
    }

    fn union(&mut self, branches: &[Schema]) -> Result<Option<Node>, SchemaError> {
        let nodes: Vec<_> = branches.iter().map(|branch| self.node(branch)).collect::<Result<_, _>>()?;
        if nodes.iter().all(Option::is_none) {
            return Ok(None);
        }
        let has_members = branches.iter().filter(|branch| !branch.is_null()).count() > 1;
        let mut number = 0;
        let made = branches.iter().zip(nodes).map(|(branch, node)| {
            if branch.is_null() {
                return Ok(Branch::Null);
            }
            let node = node.map_or_else(|| self.leaf(branch), Ok)?;
            let name = has_members.then(|| member_name(number));
            number += 1;
            Ok(Branch::Value(name, node))
        });
        Ok(Some(Node::Union(made.collect::<Result<_, SchemaError>>()?)))
    }

    /// Compiles a type without recursion.
    fn leaf(&self, schema: &Schema) -> Result<Node, SchemaError> {
        let (data_type, is_nullable) = column_type(schema)?;
        let column = Column::new(&data_type, is_nullable, 0);
        let width = column.map_err(|error| unsupported(error.to_string()))?.width;
        check_row_bytes(width).map_err(unsupported)?;
        let write = compile(schema, self.limits.default_bytes, &data_type);
        let write = write.map_err(|failure| SchemaError::column(FORMAT, &failure, ROOT))?;
        let read = resolve(schema, schema, self.limits)?.step;
        Ok(Node::Leaf(Box::new(Leaf { data_type, is_nullable, read, write })))
    }
}
