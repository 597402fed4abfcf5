//! Compiles the text of a schema with its references, in memory.
//!
//! Imports are resolved in this order: Google's own files, the references, and the built-in files that Confluent's
//! serializers do not register.
//!
//! Invariants: the compiler does not read the file system. The number of files is bounded, and so is the recursion over
//! imports and nested definitions: `nesting` checks each file before the compiler reads it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use miette::Diagnostic as _;
use prost_reflect::FileDescriptor;
use prost_reflect::prost_types::FileDescriptorProto;
use protox::file::{File, FileResolver, GoogleFileResolver};
use protox::{Compiler, Error};

use super::built_in_files::{GOOGLE, KNOWN, MAX_FILES};
use super::descriptor_files::descriptor_of;
use super::nesting::{check_descriptor, check_text};
use super::{invalid, unsupported};
use crate::error::SchemaError;
use crate::registered_schema::RegisteredSchema;

/// Compiles a schema. Returns the descriptor of its own file.
pub(super) fn compile(schema: &RegisteredSchema) -> Result<FileDescriptor, SchemaError> {
    let mut files = HashMap::new();
    let mut order = Vec::new();
    collect(schema, &mut files, &mut order)?;
    let mut name = "schema.proto".to_owned();
    while files.contains_key(&name) {
        name.insert(0, '_');
    }
    files.insert(name.clone(), SchemaFile::of(&schema.text)?);
    order.push(name.clone());
    let compiled = catch_unwind(AssertUnwindSafe(|| {
        let mut compiler = Compiler::with_file_resolver(Files { files, google: GoogleFileResolver::new() });
        // Referenced files are added first, so the compiler does not have to follow long chains of imports.
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
        false => invalid(format!("{}{error}", place(error).unwrap_or_default())),
    }
}

/// Returns the file, line and column of an error, as far as the compiler reports them.
fn place(error: &Error) -> Option<String> {
    let file = || error.file().map(|file| format!("{file}: "));
    // If an error has two locations, such as both uses of a duplicate name, the second one is the wrong one.
    let Some(label) = error.labels().and_then(Iterator::last) else { return file() };
    let Some(Ok(found)) = error.source_code().map(|text| text.read_span(label.inner(), 0, 0)) else {
        return file();
    };
    Some(format!("{}:{}:{}: ", error.file().or(found.name())?, found.line() + 1, found.column() + 1))
}

/// Collects the referenced files, each after the files that it references.
fn collect(
    schema: &RegisteredSchema,
    files: &mut HashMap<String, SchemaFile>,
    order: &mut Vec<String>,
) -> Result<(), SchemaError> {
    for reference in &schema.references {
        if reference.name.starts_with(GOOGLE) || files.contains_key(&*reference.name) {
            continue;
        }
        if files.len() >= MAX_FILES {
            return Err(unsupported(format!("it has more than {MAX_FILES} references")));
        }
        files.insert(reference.name.to_string(), SchemaFile::of(&reference.schema.text)?);
        collect(&reference.schema, files, order)?;
        order.push(reference.name.to_string());
    }
    Ok(())
}

/// The file of a schema.
enum SchemaFile {
    Text(Arc<str>),
    Descriptor(Box<FileDescriptorProto>),
}

impl SchemaFile {
    fn of(text: &Arc<str>) -> Result<Self, SchemaError> {
        let Some(file) = descriptor_of(text) else {
            check_text(text)?;
            return Ok(Self::Text(Arc::clone(text)));
        };
        match file.syntax() {
            "" | "proto2" | "proto3" => Ok(Self::Descriptor(Box::new(check_descriptor(file)?))),
            "editions" => Err(unsupported("editions are not implemented")),
            other => Err(invalid(format!("the syntax {other:?} is unknown"))),
        }
    }
}

struct Files {
    files: HashMap<String, SchemaFile>,
    google: GoogleFileResolver,
}

impl FileResolver for Files {
    fn open_file(&self, name: &str) -> Result<File, Error> {
        if name.starts_with(GOOGLE) {
            return self.google.open_file(name);
        }
        let known = || KNOWN.iter().find(|(path, _)| *path == name).map(|(_, text)| *text);
        match (self.files.get(name), known()) {
            (Some(SchemaFile::Descriptor(file)), _) => {
                let mut file = FileDescriptorProto::clone(file);
                file.name = Some(name.to_owned());
                Ok(file.into())
            }
            (Some(SchemaFile::Text(text)), _) => File::from_source(name, text),
            (None, Some(text)) => File::from_source(name, text),
            (None, None) => Err(Error::file_not_found(name)),
        }
    }
}
