//! Makes objects of the values of a recursive schema.
//!
//! Invariants: a whole payload is one object. An error says where in the object it is.

use std::sync::Arc;

use crate::avro::column::Column;
use crate::avro::fault::Fault;
use crate::avro::input::Input;
use crate::budget::Budget;

use super::MAX_LEVELS;
use super::nodes::{Leaf, Node};
use super::objects::AvroObjects;
use super::place::{Part, Place, Within};
use super::traits::ObjectBuilder;

/// An object that was begun.
struct Open<'a, T> {
    /// The name of the member, if it is in a union of several types.
    member: Option<&'a str>,
    parts: Parts<'a, T>,
}

enum Parts<'a, T> {
    Record { names: &'a [Arc<str>], nodes: &'a [Node], entries: Vec<(&'a str, T)> },
    Array { node: &'a Node, left: usize, items: Vec<T> },
    Map { node: &'a Node, left: usize, key: &'a str, entries: Vec<(&'a str, T)> },
}

/// What a node begins with.
enum Begun<'a, T> {
    Whole(T),
    Parts(Parts<'a, T>),
}

impl AvroObjects {
    /// Decodes an object that was resolved to the schema.
    ///
    /// # Errors
    /// Those of the builder, also for malformed bytes.
    pub fn decode<B: ObjectBuilder>(&self, bytes: &[u8], builder: &B) -> Result<B::Object, B::Error> {
        let mut input = Input::new(bytes, Budget::new(self.limits.batch_bytes).row(bytes));
        let mut open = Vec::new();
        let object = self.read(&mut input, builder, &mut open).map_err(|failure| {
            let error = match failure {
                Failure::Fault(fault) => builder.malformed(fault.to_string()),
                Failure::Builder(error) => error,
            };
            if open.is_empty() { error } else { builder.within(error, &Place(&open)) }
        })?;
        if input.is_empty() { Ok(object) } else { Err(builder.malformed(Fault::Rest.to_string())) }
    }

    fn read<'a, B: ObjectBuilder>(
        &'a self,
        input: &mut Input<'a>,
        builder: &B,
        open: &mut Vec<Open<'a, B::Object>>,
    ) -> Result<B::Object, Failure<B::Error>> {
        let mut next = Some(&self.root);
        let mut object = None;
        loop {
            if let Some(node) = next {
                let (member, begun) = self.begin_read(node, input, builder)?;
                match begun {
                    Begun::Whole(value) => object = Some(in_member(member, value, builder)?),
                    Begun::Parts(_) if open.len() == MAX_LEVELS => return Err(Fault::Nested.into()),
                    Begun::Parts(parts) => open.push(Open { member, parts }),
                }
            }
            let Some(outer) = open.last_mut() else { return Ok(object.ok_or(Fault::Internal)?) };
            if let Some(object) = object.take() {
                outer.parts.push(object);
            }
            next = outer.parts.next(input)?;
            if next.is_none()
                && let Some(Open { member, parts }) = open.pop()
            {
                object = Some(in_member(member, parts.build(builder)?, builder)?);
            }
        }
    }

    /// Reads a value without others in it, or begins one; with the name of its member.
    #[expect(clippy::type_complexity, reason = "the name is only of unions")]
    fn begin_read<'a, B: ObjectBuilder>(
        &'a self,
        node: &'a Node,
        input: &mut Input<'a>,
        builder: &B,
    ) -> Result<(Option<&'a str>, Begun<'a, B::Object>), Failure<B::Error>> {
        let (mut node, mut member) = (node, None);
        while let Node::Union(union) = node {
            let number = input.long()?;
            let at = usize::try_from(number).ok().filter(|at| *at < union.branches.len());
            let (before, rest) = union.branches.split_at(at.ok_or(Fault::Branch(number))?);
            let Some(Some(branch)) = rest.first() else { return Ok((None, Begun::Whole(builder.null()))) };
            member = union.members.get(before.iter().flatten().count()).map(|name| &**name);
            node = branch;
        }
        let parts = match node {
            Node::Leaf(leaf) => return Ok((member, Begun::Whole(leaf.read(input, builder)?))),
            Node::Record(index) => {
                let fields = self.records.get(*index).and_then(Option::as_ref).ok_or(Fault::Internal)?;
                let entries = Vec::with_capacity(fields.names.len());
                Parts::Record { names: &fields.names, nodes: &fields.nodes, entries }
            }
            Node::Array(node) => Parts::Array { node, left: 0, items: Vec::new() },
            Node::Map(node) => Parts::Map { node, left: 0, key: "", entries: Vec::new() },
            Node::Union(_) => return Err(Fault::Internal.into()),
        };
        Ok((member, Begun::Parts(parts)))
    }
}

fn in_member<B: ObjectBuilder>(
    member: Option<&str>,
    object: B::Object,
    builder: &B,
) -> Result<B::Object, Failure<B::Error>> {
    match member {
        Some(name) => builder.map(vec![(name, object)]).map_err(Failure::Builder),
        None => Ok(object),
    }
}

impl<'a, T> Parts<'a, T> {
    /// Adds the part that was begun.
    fn push(&mut self, object: T) {
        match self {
            Self::Record { names, entries, .. } => {
                entries.extend(names.get(entries.len()).map(|name| (&**name, object)));
            }
            Self::Array { items, .. } => items.push(object),
            Self::Map { key, entries, .. } => entries.push((key, object)),
        }
    }

    /// Returns the node of the next part.
    fn next(&mut self, input: &mut Input<'a>) -> Result<Option<&'a Node>, Fault> {
        let (node, left) = match self {
            Self::Record { nodes, entries, .. } => return Ok(nodes.get(entries.len())),
            Self::Array { node, left, .. } | Self::Map { node, left, .. } => (*node, left),
        };
        if *left == 0 {
            *left = input.block()?;
            if *left == 0 {
                return Ok(None);
            }
        }
        *left -= 1;
        if let Self::Map { key, .. } = self {
            *key = input.text()?;
        }
        Ok(Some(node))
    }

    fn build<B: ObjectBuilder<Object = T>>(self, builder: &B) -> Result<T, Failure<B::Error>> {
        match self {
            Self::Record { entries, .. } | Self::Map { entries, .. } => builder.map(entries),
            Self::Array { items, .. } => builder.list(items),
        }
        .map_err(Failure::Builder)
    }
}

impl<T> Within for Open<'_, T> {
    fn part(&self) -> Part<'_> {
        match &self.parts {
            Parts::Record { names, entries, .. } => {
                Part::Field(names.get(entries.len()).map_or("", |name| name))
            }
            Parts::Array { items, .. } => Part::Item(items.len()),
            Parts::Map { key, .. } => Part::Key(key),
        }
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
