//! Removes the fields of a reader's schema that are not selected.
//!
//! A union of several types keeps all of them, because they all take part in matching a writer's type to a branch.
//! Branches that are not selected are marked.
//!
//! Invariant: resolution chooses the same branches as with the whole schema.

use std::collections::HashMap;
use std::sync::Arc;

use super::column_type::member_name;
use super::schema::{Field, Kind, Record, Schema};
use crate::error::SchemaError;
use crate::projection::{Selection, join};

/// Returns the selected part of a schema.
pub(super) fn project(schema: &Schema, selection: &Selection) -> Result<Schema, SchemaError> {
    project_at(schema, selection, "")
}

fn project_at(schema: &Schema, selection: &Selection, path: &str) -> Result<Schema, SchemaError> {
    if selection.is_all() {
        return Ok(schema.clone());
    }
    let kind = match &schema.kind {
        Kind::Array(items) => Kind::Array(Arc::new(project_at(items, selection, path)?)),
        Kind::Map(values) => Kind::Map(Arc::new(project_at(values, selection, path)?)),
        Kind::Record(record) => Kind::Record(Arc::new(project_record(record, selection, path)?)),
        Kind::Union(branches) => Kind::Union(Arc::new(project_union(branches, selection, path)?)),
        other => {
            selection.check_leaf(path)?;
            other.clone()
        }
    };
    Ok(Schema { kind, ..schema.clone() })
}

fn project_record(record: &Arc<Record>, selection: &Selection, path: &str) -> Result<Record, SchemaError> {
    selection.check_names(path, record.fields.iter().map(|field| &*field.name))?;
    let (mut fields, mut by_name) = (Vec::new(), HashMap::new());
    for field in &record.fields {
        let Some(inner) = selection.get(&field.name) else { continue };
        let schema = project_at(&field.schema, inner, &join(path, &field.name))?;
        by_name.insert(Arc::clone(&field.name), fields.len());
        fields.push(Field { name: Arc::clone(&field.name), schema, default: field.default.clone() });
    }
    Ok(Record { name: record.name.clone(), fields, by_name, whole: Some(Arc::clone(record)) })
}

fn project_union(branches: &[Schema], selection: &Selection, path: &str) -> Result<Vec<Schema>, SchemaError> {
    let members = branches.iter().filter(|branch| !branch.is_null()).count();
    let names: Vec<String> = (0..members).map(member_name).collect();
    if members > 1 {
        selection.check_names(path, names.iter().map(String::as_str))?;
    }
    let mut names = names.iter();
    let mut projected = Vec::with_capacity(branches.len());
    for branch in branches {
        let name = if branch.is_null() { None } else { names.next() };
        projected.push(match name {
            None => branch.clone(),
            Some(_) if members == 1 => project_at(branch, selection, path)?,
            Some(name) => match selection.get(name) {
                Some(inner) => project_at(branch, inner, &join(path, name))?,
                None => Schema { is_selected: false, ..branch.clone() },
            },
        });
    }
    Ok(projected)
}
