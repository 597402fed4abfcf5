//! A schema as a graph of nodes: records within themselves, and between them leaves that are columns.
//!
//! Invariant: each record is compiled once, and refers to others by their indexes.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow_schema::DataType;

use crate::avro::column::Column;
use crate::avro::column_type::{column_type, member_name};
use crate::avro::default_value::encode_field;
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
    Union(Union),
}

/// A union of which a member is recursive.
#[derive(Debug)]
pub(super) struct Union {
    /// `None` for null.
    pub(super) branches: Vec<Option<Node>>,
    /// The names of the members, which are not null, if there are several; or none.
    pub(super) members: Vec<Arc<str>>,
}

/// A type without recursion.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) data_type: DataType,
    pub(super) is_nullable: bool,
    /// The records, arrays and maps within one another.
    pub(super) levels: usize,
    pub(super) read: Step,
    pub(super) write: WriteStep,
}

/// A record that is recursive, or has one that is.
#[derive(Debug)]
pub(super) struct Fields {
    record: Arc<Record>,
    pub(super) names: Vec<Arc<str>>,
    pub(super) nodes: Vec<Node>,
    /// The encoded defaults, or what is wrong with them, once they are needed.
    defaults: Vec<OnceLock<Result<Vec<u8>, String>>>,
    default_bytes: usize,
}

impl Fields {
    /// The encoded default of a field; `None` if it has none.
    pub(super) fn default(&self, number: usize) -> Option<&Result<Vec<u8>, String>> {
        let field = self.record.fields.get(number).filter(|field| field.default.is_some())?;
        Some(self.defaults.get(number)?.get_or_init(|| {
            let encoded = encode_field(&self.record.name.0, field, self.default_bytes);
            encoded.map_err(|error| error.to_string())
        }))
    }
}

#[derive(Debug)]
pub(super) struct Compiler<'a> {
    pub(super) limits: &'a SchemaLimits,
    pub(super) records: Vec<Option<Fields>>,
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
        self.records.push(None);
        self.known.insert(address, Some(index));
        let nodes: Vec<_> =
            record.fields.iter().map(|field| self.node(&field.schema)).collect::<Result<_, _>>()?;
        if nodes.iter().all(Option::is_none) {
            self.known.insert(address, None);
            return Ok(None);
        }
        let nodes = record.fields.iter().zip(nodes);
        let nodes = nodes.map(|(field, node)| node.map_or_else(|| self.leaf(&field.schema), Ok));
        let fields = Fields {
            names: record.fields.iter().map(|field| Arc::clone(&field.name)).collect(),
            nodes: nodes.collect::<Result<_, SchemaError>>()?,
            defaults: record.fields.iter().map(|_| OnceLock::new()).collect(),
            default_bytes: self.limits.default_bytes,
            record: Arc::clone(record),
        };
        if let Some(place) = self.records.get_mut(index) {
            *place = Some(fields);
        }
        Ok(Some(index))
    }

    fn union(&mut self, branches: &[Schema]) -> Result<Option<Node>, SchemaError> {
        let nodes: Vec<_> = branches.iter().map(|branch| self.node(branch)).collect::<Result<_, _>>()?;
        if nodes.iter().all(Option::is_none) {
            return Ok(None);
        }
        let values = branches.iter().filter(|branch| !branch.is_null()).count();
        let members = (0..values).filter(|_| values > 1).map(|number| member_name(number).into()).collect();
        let nodes = branches.iter().zip(nodes).map(|(branch, node)| match branch.is_null() {
            true => Ok(None),
            false => node.map_or_else(|| self.leaf(branch), Ok).map(Some),
        });
        let branches = nodes.collect::<Result<_, SchemaError>>()?;
        Ok(Some(Node::Union(Union { branches, members })))
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
        Ok(Node::Leaf(Box::new(Leaf { data_type, is_nullable, levels: levels(schema), read, write })))
    }
}

/// The records, arrays and maps of a type within one another.
fn levels(schema: &Schema) -> usize {
    match &schema.kind {
        Kind::Array(inner) | Kind::Map(inner) => 1 + levels(inner),
        Kind::Record(record) => {
            1 + record.fields.iter().map(|field| levels(&field.schema)).max().unwrap_or_default()
        }
        Kind::Union(branches) => branches.iter().map(levels).max().unwrap_or_default(),
        _ => 0,
    }
}
