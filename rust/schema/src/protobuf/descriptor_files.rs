//! Schemas from serialized descriptors, which generated classes contain and `protoc --descriptor_set_out` writes.
//!
//! The text of such a schema is one `FileDescriptorProto` in base64, the form that Confluent's Python serializers
//! register.
//!
//! Invariant: the files form a tree without cycles, whose size is bounded.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::prost::Message;
use prost_reflect::prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};

use super::built_in_files::{MAX_FILES, is_built_in};
use super::{invalid, unsupported};
use crate::data_contract::DataContract;
use crate::error::SchemaError;
use crate::registered_schema::{RegisteredSchema, SchemaReference, SchemaType};

/// Returns the descriptor in the text of a schema, or `None` if the text is a `.proto` file.
pub(super) fn descriptor_of(text: &str) -> Option<FileDescriptorProto> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    FileDescriptorProto::decode(STANDARD.decode(text).ok()?.as_slice()).ok()
}

impl RegisteredSchema {
    /// Creates the schema of a serialized `FileDescriptorSet`. Its file is the one that defines `message`, given by its
    /// full name; without `message`, it is the only file that no other file imports.
    ///
    /// # Errors
    /// The set is malformed, an imported file is missing, or several files are possible.
    pub fn of_descriptor_set(bytes: &[u8], message: Option<&str>) -> Result<Self, SchemaError> {
        let set = FileDescriptorSet::decode(bytes);
        let set = set.map_err(|error| invalid(format!("it is not a FileDescriptorSet: {error}")))?;
        of_files(set.file, message)
    }

    /// Creates the schema of serialized `FileDescriptorProto`s, like [`RegisteredSchema::of_descriptor_set`].
    ///
    /// # Errors
    /// The same as for [`RegisteredSchema::of_descriptor_set`].
    pub fn of_descriptor_files<'a>(
        files: impl IntoIterator<Item = &'a [u8]>,
        message: Option<&str>,
    ) -> Result<Self, SchemaError> {
        let files = files.into_iter().map(FileDescriptorProto::decode).collect::<Result<Vec<_>, _>>();
        let files = files.map_err(|error| invalid(format!("it is not a FileDescriptorProto: {error}")))?;
        of_files(files, message)
    }
}

fn of_files(files: Vec<FileDescriptorProto>, message: Option<&str>) -> Result<RegisteredSchema, SchemaError> {
    if files.len() > MAX_FILES {
        return Err(unsupported(format!("it has more than {MAX_FILES} files")));
    }
    let root = root(&files, message)?.name().to_owned();
    let by_name = files.into_iter().map(|file| (file.name().to_owned(), file)).collect();
    let mut tree = Tree { by_name, built: HashMap::new() };
    Ok(Arc::unwrap_or_clone(tree.build(&root)?))
}

/// Chooses the schema's own file.
fn root<'a>(
    files: &'a [FileDescriptorProto],
    message: Option<&str>,
) -> Result<&'a FileDescriptorProto, SchemaError> {
    if let Some(name) = message {
        let found = files.iter().find(|file| has_message(file, name));
        return found.ok_or_else(|| {
            let names = files.iter().flat_map(|file| {
                file.message_type.iter().map(|message| full_name(file.package(), message.name()))
            });
            let names: Vec<String> = names.take(10).collect();
            invalid(format!("it has no message {name}; its first ones are {}", names.join(", ")))
        });
    }
    let is_imported =
        |file: &&FileDescriptorProto| files.iter().any(|it| it.dependency.iter().any(|it| it == file.name()));
    let roots: Vec<_> = files.iter().filter(|file| !is_imported(file)).collect();
    match roots.as_slice() {
        [only] => Ok(only),
        [] => Err(invalid("its files import each other, or there are none")),
        several => {
            let names: Vec<_> = several.iter().take(10).map(|file| file.name()).collect();
            Err(invalid(format!("name the message, since there are several files: {}", names.join(", "))))
        }
    }
}

fn full_name(package: &str, name: &str) -> String {
    if package.is_empty() { name.to_owned() } else { format!("{package}.{name}") }
}

fn has_message(file: &FileDescriptorProto, name: &str) -> bool {
    let local = match file.package() {
        "" => Some(name),
        package => name.strip_prefix(package).and_then(|rest| rest.strip_prefix('.')),
    };
    local.is_some_and(|local| contains(&file.message_type, local))
}

fn contains(messages: &[DescriptorProto], local: &str) -> bool {
    let (first, rest) = match local.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (local, None),
    };
    let found = messages.iter().find(|message| message.name() == first);
    found.is_some_and(|message| rest.is_none_or(|rest| contains(&message.nested_type, rest)))
}

struct Tree {
    /// The files whose build has not started.
    by_name: HashMap<String, FileDescriptorProto>,
    built: HashMap<String, Arc<RegisteredSchema>>,
}

impl Tree {
    /// Builds the schema of a file. Each file is built once.
    fn build(&mut self, name: &str) -> Result<Arc<RegisteredSchema>, SchemaError> {
        if let Some(built) = self.built.get(name) {
            return Ok(Arc::clone(built));
        }
        let file = self.by_name.remove(name);
        let file = file.ok_or_else(|| invalid(format!("the file {name} imports itself through others")))?;
        let mut references = Vec::new();
        for import in &file.dependency {
            if is_built_in(import) {
                continue;
            }
            if !self.by_name.contains_key(import) && !self.built.contains_key(import) {
                return Err(invalid(format!(
                    "the file {import} is missing, or imports {name}, which imports it: protoc adds it with --include_imports"
                )));
            }
            references.push(SchemaReference { name: import.as_str().into(), schema: self.build(import)? });
        }
        let schema = RegisteredSchema {
            schema_type: SchemaType::Protobuf,
            guid: None,
            text: STANDARD.encode(file.encode_to_vec()).into(),
            references,
            rules: Vec::new(),
            contract: DataContract::default(),
        };
        let schema = Arc::new(schema);
        self.built.insert(name.to_owned(), Arc::clone(&schema));
        Ok(schema)
    }
}
