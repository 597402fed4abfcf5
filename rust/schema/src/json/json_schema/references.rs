//! Finds the schemas that `$ref` names: in the same document, by JSON Pointer, `$id` or `$anchor`; in another
//! one, by the name of a reference in the registry.
//!
//! A schema with an `$id` is a separate resource: pointers and anchors inside it refer to that resource. Many schema
//! authors do not know this, so a pointer that the resource lacks is also looked up in the document.
//!
//! Invariants: nothing is fetched. A reference to a schema that contains the reference is an error, because Arrow has
//! no recursive types.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::MAX_NESTING;
use crate::error::SchemaError;
use crate::json::document::Document;
use crate::json::{invalid, unsupported};
use crate::registered_schema::RegisteredSchema;
use crate::shape::RECURSIVE;

/// The largest number of documents of a schema.
const MAX_SOURCES: usize = 10_000;

/// A document with its references.
#[derive(Debug)]
pub(super) struct Source {
    document: Document,
    /// The indexes of other sources, by name.
    references: Vec<(Arc<str>, usize)>,
}

/// A schema within a document.
#[derive(Debug, Clone)]
pub(super) struct Location<'a> {
    source: usize,
    pub(super) schema: &'a Document,
    /// The innermost enclosing schema with an `$id`, or the document.
    resource: &'a Document,
    /// The references that led here.
    chain: Option<Rc<Link<'a>>>,
}

#[derive(Debug)]
struct Link<'a> {
    target: &'a Document,
    parent: Option<Rc<Link<'a>>>,
}

impl<'a> Location<'a> {
    /// Returns the location of a schema inside this one.
    pub(super) fn inner(&self, schema: &'a Document) -> Self {
        let resource = resource_of(schema, self.resource);
        Self { source: self.source, schema, resource, chain: self.chain.clone() }
    }
}

/// Reads a schema and the schemas that it references. The first source is the schema itself.
pub(super) fn read(schema: &RegisteredSchema) -> Result<Vec<Source>, SchemaError> {
    let mut sources = Vec::new();
    read_into(schema, &mut sources, &mut HashMap::new(), 0)?;
    Ok(sources)
}

fn read_into(
    schema: &RegisteredSchema,
    sources: &mut Vec<Source>,
    read: &mut HashMap<*const RegisteredSchema, usize>,
    nesting: usize,
) -> Result<usize, SchemaError> {
    if nesting > MAX_NESTING || sources.len() >= MAX_SOURCES {
        return Err(unsupported("it has too many references"));
    }
    let document = Document::parse(schema.text.as_bytes());
    let document = document.map_err(|reason| invalid(format!("it is not JSON: {reason}")))?;
    let at = sources.len();
    sources.push(Source { document, references: Vec::new() });
    for reference in &schema.references {
        let address = Arc::as_ptr(&reference.schema);
        // A schema is read once, however many schemas reference it.
        let target = match read.get(&address) {
            Some(known) => *known,
            None => read_into(&reference.schema, sources, read, nesting + 1)?,
        };
        read.insert(address, target);
        if let Some(source) = sources.get_mut(at) {
            source.references.push((Arc::clone(&reference.name), target));
        }
    }
    Ok(at)
}

/// The documents of a schema, for looking up references.
#[derive(Debug)]
pub(super) struct Library<'a> {
    sources: &'a [Source],
    names: Vec<Names<'a>>,
}

/// The named schemas of a document. If several have the same name, the first one is used.
#[derive(Debug, Default)]
struct Names<'a> {
    ids: HashMap<String, &'a Document>,
    /// The schemas by resource and anchor.
    anchors: HashMap<(*const Document, &'a str), &'a Document>,
}

impl<'a> Library<'a> {
    pub(super) fn new(sources: &'a [Source]) -> Self {
        let names = sources.iter().map(|source| {
            let mut names = Names::default();
            names.collect(&source.document, &source.document);
            names
        });
        Self { sources, names: names.collect() }
    }

    pub(super) fn root(&self) -> Result<Location<'a>, SchemaError> {
        let source = self.sources.first().ok_or_else(|| invalid("it is empty"))?;
        let document = &source.document;
        let chain = Some(Rc::new(Link { target: document, parent: None }));
        Ok(Location { source: 0, schema: document, resource: document, chain })
    }

    /// Returns whether the keywords next to a `$ref` apply, which they do since draft 2019-09.
    pub(super) fn has_siblings(&self, at: &Location<'a>) -> bool {
        let source = self.sources.get(at.source);
        let draft = source.and_then(|source| source.document.get("$schema")?.as_str()).unwrap_or_default();
        draft.contains("2019-09") || draft.contains("2020-12")
    }

    /// Follows a reference.
    pub(super) fn resolve(
        &self,
        at: &Location<'a>,
        reference: &str,
        path: &str,
    ) -> Result<Location<'a>, SchemaError> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let missing = || {
            let name = format!("the $ref {reference:?} at {path}");
            invalid(format!("{name} is neither in the document nor in a reference of the schema"))
        };
        let (source, root) = self.document(at, reference, uri).ok_or_else(missing)?;
        let fragment = percent_decoded(fragment);
        let found = self.fragment(source, root, &fragment);
        let document = self.sources.get(source).map(|source| &source.document);
        let found = found.or_else(|| self.fragment(source, document.filter(|_| uri.is_empty())?, &fragment));
        let (target, resource) = found.ok_or_else(missing)?;
        let mut link = at.chain.as_deref();
        while let Some(Link { target: open, parent }) = link {
            if std::ptr::eq(*open, target) {
                return Err(unsupported(format!("the $ref {reference:?} at {path} {RECURSIVE}")));
            }
            link = parent.as_deref();
        }
        let chain = Some(Rc::new(Link { target, parent: at.chain.clone() }));
        Ok(Location { source, schema: target, resource, chain })
    }

    /// Finds the schema that a fragment names in a resource. Returns it with its resource.
    fn fragment(
        &self,
        source: usize,
        root: &'a Document,
        fragment: &str,
    ) -> Option<(&'a Document, &'a Document)> {
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let target = self.names.get(source)?.anchors.get(&(std::ptr::from_ref(root), fragment))?;
            return Some((target, root));
        }
        fragment.split('/').skip(1).try_fold((root, root), |(schema, resource), part| {
            let part = part.replace("~1", "/").replace("~0", "~");
            let inner = match schema {
                Document::Array(items) => items.get(part.parse::<usize>().ok()?),
                other => other.get(&part),
            }?;
            Some((inner, resource_of(inner, resource)))
        })
    }

    /// Finds the resource of a URI.
    fn document(&self, at: &Location<'a>, reference: &str, uri: &str) -> Option<(usize, &'a Document)> {
        let source = self.sources.get(at.source)?;
        if uri.is_empty() {
            return Some((at.source, at.resource));
        }
        let by_name = |wanted: &str| {
            let found = source.references.iter().find(|(name, _)| name.trim_end_matches('#') == wanted);
            found.and_then(|(_, found)| Some((*found, &self.sources.get(*found)?.document)))
        };
        if let Some(found) = by_name(uri).or_else(|| by_name(reference)) {
            return Some(found);
        }
        let named = &self.names.get(at.source)?.ids;
        // The URI may be an id in the same document. A relative id matches the end of the URI.
        let ends_with_uri = |id: &str| id.strip_suffix(uri).is_some_and(|base| base.ends_with(['/', ':']));
        let by_id = named.get(uri).or_else(|| {
            let mut ends = named.iter().filter(|(id, _)| ends_with_uri(id));
            ends.next().filter(|_| ends.next().is_none()).map(|(_, schema)| schema)
        });
        if let Some(schema) = by_id {
            return Some((at.source, schema));
        }
        // The registry's name may be the end of the URI, or the other way round.
        let is_end = |name: &str| {
            uri.strip_suffix(name).is_some_and(|base| base.ends_with('/')) || ends_with_uri(name)
        };
        let mut ends = source.references.iter().filter(|(name, _)| is_end(name));
        let (_, found) = ends.next().filter(|_| ends.next().is_none())?;
        Some((*found, &self.sources.get(*found)?.document))
    }
}

/// Returns the resource of a schema: the schema itself if it has an id, or the enclosing resource. An id such as `#a`
/// is an anchor of an older draft.
fn resource_of<'a>(schema: &'a Document, around: &'a Document) -> &'a Document {
    if id_of(schema).is_some_and(|id| !id.starts_with('#')) { schema } else { around }
}

fn id_of(schema: &Document) -> Option<&str> {
    ["$id", "id"].iter().find_map(|key| schema.get(key)?.as_str())
}

impl<'a> Names<'a> {
    fn collect(&mut self, schema: &'a Document, resource: &'a Document) {
        let id = id_of(schema);
        let resource = resource_of(schema, resource);
        if let Some(id) = id.filter(|id| !id.starts_with('#')) {
            self.ids.entry(id.trim_end_matches('#').to_owned()).or_insert(schema);
        }
        let anchors = ["$anchor", "$dynamicAnchor"].iter().filter_map(|key| schema.get(key)?.as_str());
        for anchor in anchors.chain(id.and_then(|id| id.strip_prefix('#'))) {
            self.anchors.entry((std::ptr::from_ref(resource), anchor)).or_insert(schema);
        }
        for (_, inner) in schema.entries() {
            self.collect(inner, resource);
        }
        for inner in schema.as_array().unwrap_or_default() {
            self.collect(inner, resource);
        }
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten();
        let hex = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(hex.unwrap_or(*first));
        rest = after.get(if hex.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
