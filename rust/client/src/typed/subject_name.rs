//! The subject of a schema to write with.
//!
//! Source: the subject name strategies of Confluent's serializers.

use std::fmt::Debug;
use std::sync::Arc;

use ottla_schema::{Header, context_of};

use crate::error::{Error, Kind, Result};
use crate::printable::printable;

/// How a subject gets its name.
#[derive(Debug, Clone, Default)]
pub enum SubjectName {
    /// The topic's name, followed by `-key` or `-value`.
    #[default]
    Topic,
    /// The name of the type: a full name in Avro, the message's in Protobuf, the title in JSON Schema.
    Record,
    /// The topic's name, `-`, and the name of the type.
    TopicRecord,
    /// This name.
    Given(Arc<str>),
    /// The application's choice.
    Custom(Arc<dyn SubjectNaming>),
}

/// Names subjects.
pub trait SubjectNaming: Debug + Send + Sync {
    /// The subject of a type, by its name if it has one.
    ///
    /// # Errors
    /// There is none.
    fn subject(&self, topic: &str, header: Header, type_name: Option<&str>) -> Result<String>;
}

impl SubjectName {
    /// The context of the subject, in which its ids are.
    pub(super) fn context(&self) -> Option<&str> {
        match self {
            Self::Given(subject) => context_of(subject),
            _ => None,
        }
    }

    /// Whether the subject depends on the topic.
    pub(super) fn is_of_topic(&self) -> bool {
        matches!(self, Self::Topic | Self::TopicRecord | Self::Custom(_))
    }

    /// Whether the subject depends on the type that is written.
    pub(super) fn is_of_type(&self) -> bool {
        matches!(self, Self::Record | Self::TopicRecord | Self::Custom(_))
    }

    /// The subject. The name of the type may be missing if the subject does not [depend](Self::is_of_type) on it.
    ///
    /// # Errors
    /// [`Kind::Config`]: the type has no name.
    pub(super) fn subject(&self, topic: &str, header: Header, type_name: Option<&str>) -> Result<String> {
        let type_name = || {
            type_name.ok_or_else(|| {
                let message = format!(
                    "the schema for {}s of topic {} has no name, which would be the name of its subject: give it one, or name the subject (subject=)",
                    header.column(),
                    printable(topic)
                );
                Error::new(Kind::Config, message)
            })
        };
        Ok(match self {
            Self::Topic => format!("{topic}-{}", header.column()),
            Self::Record => type_name()?.to_owned(),
            Self::TopicRecord => format!("{topic}-{}", type_name()?),
            Self::Given(subject) => subject.to_string(),
            Self::Custom(naming) => naming.subject(topic, header, type_name().ok())?,
        })
    }
}
