//! Encodes objects as values of a recursive schema.
//!
//! Invariants: a field of an object is written or refused, never dropped. An error says where in the object it is.

use std::fmt::Display;
use std::vec::IntoIter;

use crate::avro::fault::Fault;
use crate::avro::output::{append_bytes, append_length};
use crate::payload_encoder::MAX_BYTES;
use crate::source::Source;

use super::MAX_LEVELS;
use super::nodes::{Fields, Leaf, Node, Union};
use super::objects::AvroObjects;
use super::place::{Part, Place, Within};
use super::traits::ObjectSource;

/// An object that was begun.
enum Open<'a, S> {
    /// `begun` fields were.
    Record {
        fields: &'a Fields,
        begun: usize,
        values: IntoIter<Option<S>>,
    },
    Array {
        node: &'a Node,
        begun: usize,
        items: IntoIter<S>,
    },
    Map {
        node: &'a Node,
        key: String,
        entries: IntoIter<(String, S)>,
    },
}

impl AvroObjects {
    /// Appends the encoding of an object.
    ///
    /// # Errors
    /// Those of the object.
    pub fn encode<S: ObjectSource>(&self, object: S, out: &mut Vec<u8>) -> Result<(), S::Error> {
        let mut open: Vec<Open<'_, S>> = Vec::new();
        let mut next = Some((&self.root, object));
        while let Some((node, object)) = next.take() {
            let begun = self.begin_write(node, object, &open, out)?;
            open.extend(begun);
            while next.is_none()
                && let Some(outer) = open.last_mut()
            {
                next = outer.next(out).map_err(|reason| S::unfit(reason, &Place(&open)))?;
                if next.is_none() {
                    open.pop();
                }
            }
        }
        Ok(())
    }

    /// Writes a value without others in it, or begins one.
    fn begin_write<'a, S: ObjectSource>(
        &'a self,
        node: &'a Node,
        object: S,
        open: &[Open<'a, S>],
        out: &mut Vec<u8>,
    ) -> Result<Option<Open<'a, S>>, S::Error> {
        let place = Place(open);
        let unfit = |reason: String| S::unfit(reason, &place);
        if out.len() > MAX_BYTES {
            return Err(unfit("it takes more than 2 GiB".to_owned()));
        }
        let (mut node, mut object) = (node, object);
        while let Node::Union(union) = node {
            let Some((branch, value)) = union.branch(object, &place, out)? else { return Ok(None) };
            (node, object) = (branch, value);
        }
        let inner = if let Node::Leaf(leaf) = node { leaf.levels } else { 1 };
        if open.len() + inner > MAX_LEVELS {
            return Err(unfit(Fault::Nested.to_string()));
        }
        Ok(Some(match node {
            Node::Leaf(leaf) => {
                leaf.write(&object, &place, out)?;
                return Ok(None);
            }
            Node::Record(index) => {
                let fields = self.records.get(*index).and_then(Option::as_ref);
                let fields = fields.ok_or_else(|| unfit(Fault::Internal.to_string()))?;
                let values = object.fields(&fields.names, &place)?.into_iter();
                Open::Record { fields, begun: 0, values }
            }
            Node::Array(node) => {
                let items = object.items(&place)?;
                append_count(out, items.len());
                Open::Array { node, begun: 0, items: items.into_iter() }
            }
            Node::Map(node) => {
                let entries = object.entries(&place)?;
                append_count(out, entries.len());
                Open::Map { node, key: String::new(), entries: entries.into_iter() }
            }
            Node::Union(_) => return Err(unfit(Fault::Internal.to_string())),
        }))
    }
}

impl<'a, S> Open<'a, S> {
    /// Returns the next value to write. An error is why there is none.
    fn next(&mut self, out: &mut Vec<u8>) -> Result<Option<(&'a Node, S)>, String> {
        match self {
            Self::Record { fields, begun, values } => {
                for value in values {
                    let number = *begun;
                    *begun += 1;
                    if let Some(value) = value {
                        return Ok(fields.nodes.get(number).map(|node| (node, value)));
                    }
                    match fields.default(number) {
                        Some(Ok(bytes)) => out.extend_from_slice(bytes),
                        Some(Err(reason)) => return Err(reason.clone()),
                        None => return Err("the value lacks it, and it has no default".to_owned()),
                    }
                }
                Ok(None)
            }
            Self::Array { node, begun, items } => match items.next() {
                Some(item) => {
                    *begun += 1;
                    Ok(Some((node, item)))
                }
                None => Ok(end(out)),
            },
            Self::Map { node, key, entries } => match entries.next() {
                Some((name, value)) => {
                    append_bytes(out, name.as_bytes());
                    *key = name;
                    Ok(Some((node, value)))
                }
                None => Ok(end(out)),
            },
        }
    }
}

/// Writes the number of items of the only block, if there are any.
fn append_count(out: &mut Vec<u8>, count: usize) {
    if count > 0 {
        append_length(out, count);
    }
}

/// Writes the end of the blocks.
fn end<T>(out: &mut Vec<u8>) -> Option<T> {
    out.push(0);
    None
}

impl<S> Within for Open<'_, S> {
    fn part(&self) -> Part<'_> {
        match self {
            Self::Record { fields, begun, .. } => {
                Part::Field(fields.names.get(begun.saturating_sub(1)).map_or("", |name| name))
            }
            Self::Array { begun, .. } => Part::Item(begun.saturating_sub(1)),
            Self::Map { key, .. } => Part::Key(key),
        }
    }
}

impl Union {
    /// Writes the number of a value's branch. Returns the value and its type, or `None` if the value is null.
    fn branch<S: ObjectSource>(
        &self,
        object: S,
        place: &dyn Display,
        out: &mut Vec<u8>,
    ) -> Result<Option<(&Node, S)>, S::Error> {
        let mut values = self.branches.iter().enumerate();
        let mut values = values.by_ref().filter_map(|(number, node)| Some((number, node.as_ref()?)));
        let found = if object.is_null() {
            None
        } else if self.members.is_empty() {
            values.next().map(|value| (value, object))
        } else {
            let members = object.fields(&self.members, place)?.into_iter();
            let mut members = members.map(|member| member.filter(|value| !value.is_null()));
            values.find_map(|value| Some((value, members.next()??)))
        };
        if let Some(((number, node), value)) = found {
            append_length(out, number);
            return Ok(Some((node, value)));
        }
        let null = self.branches.iter().position(Option::is_none);
        let null =
            null.ok_or_else(|| S::unfit("it is null, which its type does not allow".to_owned(), place))?;
        append_length(out, null);
        Ok(None)
    }
}

impl Leaf {
    fn write<S: ObjectSource>(
        &self,
        object: &S,
        place: &dyn Display,
        out: &mut Vec<u8>,
    ) -> Result<(), S::Error> {
        let unfit = |reason| S::unfit(reason, place);
        let array = object.column(&self.data_type, place)?;
        let source = Source::new(&array).map_err(|error| unfit(error.to_string()))?;
        self.write.run(&source, 0, out).map_err(|failure| unfit(failure.describe("")))
    }
}
