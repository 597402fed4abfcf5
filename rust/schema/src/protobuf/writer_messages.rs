//! Finds the message of a payload in the writer's schema. Serializers identify the message by bytes before it.
//!
//! | wire format | before the message |
//! |---|---|
//! | Confluent | indexes, see `message_indexes` |
//! | Apicurio | a length and a message `Ref`, whose field 1 is the message's name without its package; version 2 omits it if a header has the name |
//! | AWS Glue | a varint: the message's index among all messages of the file, sorted by full name |
//!
//! Invariants: a payload of another message than the reader's is an error. The schema bounds the work.

use prost_reflect::FileDescriptor;

use super::input::{BYTES, Input};
use super::message_indexes;
use super::message_name::MessageName;
use super::output::append_varint;
use crate::wire_format::WireFormat;

/// The way in which serializers identify the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessagePrefix {
    Indexes,
    Ref,
    Number,
}

impl MessagePrefix {
    /// Returns the kind of prefix in a wire format, or `None` if a payload is only the message.
    pub(super) fn of(wire_format: WireFormat) -> Option<Self> {
        match wire_format {
            WireFormat::Confluent => Some(Self::Indexes),
            WireFormat::Apicurio => Some(Self::Ref),
            WireFormat::Glue => Some(Self::Number),
            WireFormat::None => None,
        }
    }
}

/// Returns the bytes before a message of a file, or `None` if the file does not have the message.
pub(super) fn prefix_of(file: &FileDescriptor, message: &str, kind: MessagePrefix) -> Option<Vec<u8>> {
    Some(WriterMessages::new(file, message, kind).prefix).filter(|prefix| !prefix.is_empty())
}

/// The messages of a writer's schema.
#[derive(Debug)]
pub(super) struct WriterMessages {
    roots: Vec<MessageName>,
    kind: MessagePrefix,
    /// The reader's message.
    expected: String,
    /// The usual prefix of the reader's message. Empty if the schema does not have the message.
    prefix: Vec<u8>,
    /// For AWS Glue, the full names of the messages by their index. Empty in other formats.
    numbered: Vec<String>,
}

/// Returns a name without its package and enclosing messages.
fn simple_name(full_name: &str) -> &str {
    full_name.rsplit_once('.').map_or(full_name, |(_, name)| name)
}

impl WriterMessages {
    pub(super) fn new(file: &FileDescriptor, expected: &str, kind: MessagePrefix) -> Self {
        let roots: Vec<_> = file.messages().map(|message| MessageName::new(&message)).collect();
        let mut numbered = Vec::new();
        if kind == MessagePrefix::Number {
            numbered.extend(all_messages(&roots).into_iter().map(|message| message.full_name.clone()));
            numbered.sort();
        }
        let mut messages = Self { roots, kind, expected: expected.to_owned(), prefix: Vec::new(), numbered };
        let prefix = messages.usual_prefix();
        // Another message may have the same simple name.
        if messages.strip_slowly(&prefix).is_ok_and(<[u8]>::is_empty) {
            messages.prefix = prefix;
        }
        messages
    }

    fn usual_prefix(&self) -> Vec<u8> {
        let mut prefix = Vec::new();
        match self.kind {
            MessagePrefix::Indexes => return message_indexes::encode(&self.roots, &self.expected),
            MessagePrefix::Ref => {
                let name = simple_name(&self.expected).as_bytes();
                let mut message = vec![1 << 3 | BYTES];
                append_varint(&mut message, name.len() as u64);
                message.extend(name);
                append_varint(&mut prefix, message.len() as u64);
                prefix.extend(message);
            }
            MessagePrefix::Number => {
                let number = self.numbered.iter().position(|name| *name == self.expected);
                append_varint(&mut prefix, number.unwrap_or(usize::MAX) as u64);
            }
        }
        prefix
    }

    /// Removes the prefix of a message, and checks that it identifies the reader's message.
    #[inline]
    pub(super) fn strip<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        match bytes.strip_prefix(self.prefix.as_slice()) {
            Some(rest) if !self.prefix.is_empty() => Ok(rest),
            _ => self.strip_slowly(bytes),
        }
    }

    fn strip_slowly<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let (found, rest) = self.find(bytes)?;
        self.check(found)?;
        Ok(rest)
    }

    /// The full name of a message, and the bytes after its prefix.
    fn find<'a>(&self, bytes: &'a [u8]) -> Result<(&str, &'a [u8]), String> {
        let mut input = Input::new(bytes);
        let found = match self.kind {
            MessagePrefix::Indexes => &message_indexes::read(&mut input, &self.roots)?.full_name,
            MessagePrefix::Ref => &self.read_ref(&mut input)?.full_name,
            MessagePrefix::Number => self.read_number(&mut input)?,
        };
        Ok((found, input.rest()))
    }

    /// The full name of the message that a payload is.
    pub(super) fn message_of(&self, bytes: &[u8], header: Option<&[u8]>) -> Result<&str, String> {
        match header {
            Some(header) if self.kind == MessagePrefix::Ref => {
                Ok(&self.named(header_name(header)?)?.full_name)
            }
            header => self.find(header.unwrap_or(bytes)).map(|(found, _)| found),
        }
    }

    /// Removes the prefix of a message that a header also identifies. In Apicurio's format, the prefix is optional
    /// then.
    pub(super) fn strip_named<'a>(&self, bytes: &'a [u8], header: &[u8]) -> Result<&'a [u8], String> {
        if self.kind != MessagePrefix::Ref {
            return match self.strip(header)? {
                [] => Ok(bytes),
                _ => Err("bytes are left after the message indexes in the header".to_owned()),
            };
        }
        let name = header_name(header)?;
        self.check(&self.named(name)?.full_name)?;
        let mut input = Input::new(bytes);
        match ref_name(&mut input) {
            Some(written) if written == name => Ok(input.rest()),
            _ => Ok(bytes),
        }
    }

    fn check(&self, found: &str) -> Result<(), String> {
        let expected = &self.expected;
        match found == expected {
            true => Ok(()),
            false => Err(format!("the message is {found}, but the reader's is {expected}")),
        }
    }

    fn read_ref(&self, input: &mut Input<'_>) -> Result<&MessageName, String> {
        let name = ref_name(input).ok_or("the name of the message (Apicurio's Ref) is malformed")?;
        self.named(name)
    }

    fn named(&self, name: &str) -> Result<&MessageName, String> {
        let is_named =
            |message: &&MessageName| message.full_name == name || simple_name(&message.full_name) == name;
        if let Some(root) = self.roots.iter().find(is_named) {
            return Ok(root);
        }
        let all = all_messages(&self.roots);
        let mut named = all.into_iter().filter(|message| !message.is_map_entry).filter(is_named);
        match (named.next(), named.next()) {
            (Some(message), None) => Ok(message),
            (Some(_), Some(_)) => Err(format!("the schema has several messages {name:?}")),
            (None, _) => Err(format!("the schema has no message {name:?}")),
        }
    }

    fn read_number(&self, input: &mut Input<'_>) -> Result<&String, String> {
        let number = input.varint().map_err(|_| "the number of the message is malformed")?;
        let message = usize::try_from(number).ok().and_then(|number| self.numbered.get(number));
        message.ok_or_else(|| format!("the schema has no message with the number {number}"))
    }
}

/// Reads the name in Apicurio's header.
fn header_name(header: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(header).map_err(|_| "the name of the message in its header is not UTF-8".to_owned())
}

/// Reads the name in Apicurio's `Ref`.
fn ref_name<'a>(input: &mut Input<'a>) -> Option<&'a str> {
    let mut fields = Input::new(input.bytes().ok()?);
    let mut name = None;
    while !fields.is_empty() {
        match fields.tag().ok()? {
            (1, BYTES) => name = Some(std::str::from_utf8(fields.bytes().ok()?).ok()?),
            (number, wire) => fields.skip(number, wire).ok()?,
        }
    }
    name.filter(|name| !name.is_empty())
}

/// Returns all messages, including nested ones.
fn all_messages(messages: &[MessageName]) -> Vec<&MessageName> {
    let mut all: Vec<&MessageName> = messages.iter().collect();
    let mut at = 0;
    while let Some(message) = all.get(at) {
        all.extend(&message.nested);
        at += 1;
    }
    all
}
