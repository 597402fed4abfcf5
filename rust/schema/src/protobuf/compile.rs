//! Compiles the text of a schema with its references, in memory.
//!
//! Imports are resolved in this order: Google's own files, the references, and the files that Confluent's
//! serializers know without a reference.
//!
//! Invariants: no file system is read. The number of files is bounded, and so is the recursion over imports.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use prost_reflect::FileDescriptor;
use protox::file::{File, FileResolver, GoogleFileResolver};
use protox::{Compiler, Error};

use super::{invalid, unsupported};
use crate::error::SchemaError;
use crate::registered_schema::RegisteredSchema;

/// The most files of a schema.
const MAX_FILES: usize = 200;

const GOOGLE: &str = "google/protobuf/";

/// Files that Confluent's serializers do not register as references.
const CONFLUENT: [(&str, &str); 3] = [
    ("confluent/meta.proto", include_str!("confluent/meta.proto")),
    ("confluent/type/decimal.proto", include_str!("confluent/type/decimal.proto")),
    ("confluent/type/variant.proto", include_str!("confluent/type/variant.proto")),
];

/// Compiles a schema; returns its own file.
pub(super) fn compile(schema: &RegisteredSchema) -> Result<FileDescriptor, SchemaError> {
    let mut texts = HashMap::new();
    let mut order = Vec::new();
    collect(schema, &mut texts, &mut order)?;
    let mut name = "schema.proto".to_owned();
    while texts.contains_key(&name) {
        name.insert(0, '_');
    }
    texts.insert(name.clone(), Arc::clone(&schema.text));
    order.push(name.clone());
    let compiled = catch_unwind(AssertUnwindSafe(|| {
        let mut compiler = Compiler::with_file_resolver(Files { texts, google: GoogleFileResolver::new() });
        // The referenced files first, so that the compiler does not have to follow long chains of imports.
        for name in &order {
            compiler.open_file(name)?;
        }
        Ok(compiler.descriptor_pool().get_file_by_name(&name))
    }));
    match compiled {
        Ok(Ok(Some(file))) => Ok(file),
        Ok(Err(error)) => Err(explain(schema, &error)),
        Ok(Ok(None)) | Err(_) => Err(invalid("the Protobuf compiler failed on it")),
    }
}

fn explain(schema: &RegisteredSchema, error: &Error) -> SchemaError {
    let has_edition = schema.text.lines().any(|line| line.trim_start().starts_with("edition"));
    match has_edition && error.is_parse() {
        true => unsupported(format!("editions are not implemented: {error}")),
        false => invalid(format!("{error:?}")),
    }
}

/// Collects the texts of referenced files, each after those that it refers to.
fn collect(
    schema: &RegisteredSchema,
    texts: &mut HashMap<String, Arc<str>>,
    order: &mut Vec<String>,
) -> Result<(), SchemaError> {
    for reference in &schema.references {
        if reference.name.starts_with(GOOGLE) || texts.contains_key(&*reference.name) {
            continue;
        }
        if texts.len() >= MAX_FILES {
            return Err(unsupported(format!("it has more than {MAX_FILES} references")));
        }
        texts.insert(reference.name.to_string(), Arc::clone(&reference.schema.text));
        collect(&reference.schema, texts, order)?;
        order.push(reference.name.to_string());
    }
    Ok(())
}

struct Files {
    texts: HashMap<String, Arc<str>>,
    google: GoogleFileResolver,
}

impl FileResolver for Files {
    fn open_file(&self, name: &str) -> Result<File, Error> {
        if name.starts_with(GOOGLE) {
            return self.google.open_file(name);
        }
        let confluent = || CONFLUENT.iter().find(|(path, _)| *path == name).map(|(_, text)| *text);
        match self.texts.get(name).map(AsRef::as_ref).or_else(confluent) {
            Some(text) => File::from_source(name, text),
            None => Err(Error::file_not_found(name)),
        }
    }
}
