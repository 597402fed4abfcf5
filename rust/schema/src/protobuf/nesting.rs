//! Checks how deep a schema is nested before the compiler reads it: too deep a recursion would overflow the stack,
//! which cannot be caught.
//!
//! The compiler recurses over nested messages, and over option values in text format. In a `.proto` file, brackets nest
//! both. Descriptors contain messages within messages, and options that a compiler left as text.
//!
//! Invariant: a stack of 512 KiB is enough to compile any schema that passes.

use prost_reflect::prost_types::{DescriptorProto, FileDescriptorProto};

use super::unsupported;
use crate::error::SchemaError;

/// The maximum nesting of brackets in a text, and of messages in a descriptor. `protoc` allows 32 nested messages.
const MAX_NESTING: usize = 40;

/// Refuses the text of a `.proto` file that is nested too deep. Brackets in strings and comments do not count.
pub(super) fn check_text(text: &str) -> Result<(), SchemaError> {
    let mut rest = text.as_bytes();
    let mut open = 0_usize;
    while let [byte, after @ ..] = rest {
        rest = match byte {
            b'{' | b'[' | b'(' | b'<' => {
                open += 1;
                if open > MAX_NESTING {
                    return Err(too_deep());
                }
                after
            }
            b'}' | b']' | b')' | b'>' => {
                open = open.saturating_sub(1);
                after
            }
            b'"' | b'\'' => after_quote(after, *byte),
            b'/' if after.starts_with(b"/") => after_first(after, b"\n"),
            b'/' if after.starts_with(b"*") => after_first(after.get(1..).unwrap_or_default(), b"*/"),
            b'#' => after_first(after, b"\n"),
            _ => after,
        };
    }
    Ok(())
}

/// Returns the bytes after a string literal's closing quote. A line break also ends it: the compiler refuses such a
/// string.
fn after_quote(text: &[u8], quote: u8) -> &[u8] {
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = match byte {
            b'\\' => after.get(1..).unwrap_or_default(),
            b'\n' => return after,
            byte if *byte == quote => return after,
            _ => after,
        };
    }
    rest
}

fn after_first<'a>(text: &'a [u8], end: &[u8]) -> &'a [u8] {
    let at = text.windows(end.len()).position(|window| window == end);
    at.and_then(|at| text.get(at + end.len()..)).unwrap_or_default()
}

/// Refuses a descriptor that is nested too deep, and drops options that are still text. Compilers usually resolve
/// those, and they never affect a column.
pub(super) fn check_descriptor(mut file: FileDescriptorProto) -> Result<FileDescriptorProto, SchemaError> {
    file.message_type.iter_mut().try_for_each(|message| check_message(message, 1))?;
    if let Some(options) = &mut file.options {
        options.uninterpreted_option.clear();
    }
    for field in &mut file.extension {
        if let Some(options) = &mut field.options {
            options.uninterpreted_option.clear();
        }
    }
    file.enum_type.iter_mut().for_each(clear_enum);
    for service in &mut file.service {
        if let Some(options) = &mut service.options {
            options.uninterpreted_option.clear();
        }
        for options in service.method.iter_mut().filter_map(|method| method.options.as_mut()) {
            options.uninterpreted_option.clear();
        }
    }
    Ok(file)
}

fn check_message(message: &mut DescriptorProto, level: usize) -> Result<(), SchemaError> {
    if level > MAX_NESTING {
        return Err(too_deep());
    }
    if let Some(options) = &mut message.options {
        options.uninterpreted_option.clear();
    }
    for options in message.field.iter_mut().chain(&mut message.extension).filter_map(|it| it.options.as_mut())
    {
        options.uninterpreted_option.clear();
    }
    for options in message.oneof_decl.iter_mut().filter_map(|oneof| oneof.options.as_mut()) {
        options.uninterpreted_option.clear();
    }
    for options in message.extension_range.iter_mut().filter_map(|range| range.options.as_mut()) {
        options.uninterpreted_option.clear();
    }
    message.enum_type.iter_mut().for_each(clear_enum);
    message.nested_type.iter_mut().try_for_each(|nested| check_message(nested, level + 1))
}

fn clear_enum(of: &mut prost_reflect::prost_types::EnumDescriptorProto) {
    if let Some(options) = &mut of.options {
        options.uninterpreted_option.clear();
    }
    for options in of.value.iter_mut().filter_map(|value| value.options.as_mut()) {
        options.uninterpreted_option.clear();
    }
}

fn too_deep() -> SchemaError {
    unsupported(format!("it is nested more than {MAX_NESTING} levels deep"))
}
