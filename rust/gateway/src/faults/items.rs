//! [`Items`]: the topics and partitions in a response, with the places of their error codes and records.
//!
//! Invariant: nothing is decoded but the names; places are within the bytes that were looked at.

use std::ops::Range;

use ottla_protocol::ApiKey;
use ottla_protocol::fields::{Number, Visitor, visit_fields};
use ottla_protocol::wire::Uuid;

/// The length of an error code, and of a throttle time.
const CODE: usize = 2;
const TIME: usize = 4;

/// What a part of a response is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// The request as a whole, a group, or whatever else is no topic.
    Request,
    /// A topic.
    Topic,
    /// A partition.
    Partition,
}

/// A part of a response.
#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) topic: Option<String>,
    pub(super) topic_id: Option<Uuid>,
    pub(super) partition: Option<i32>,
    /// The place of its error code.
    pub(super) code: Option<usize>,
    /// The place of its records.
    pub(super) records: Option<Range<usize>>,
}

impl Item {
    pub(super) fn level(&self) -> Level {
        match (self.partition, self.topic.is_some() || self.topic_id.is_some()) {
            (Some(_), _) => Level::Partition,
            (None, true) => Level::Topic,
            (None, false) => Level::Request,
        }
    }
}

/// The parts of a response.
#[derive(Debug, Default)]
pub(super) struct Items {
    /// The parts that have an error code, records or a topic's name.
    pub(super) found: Vec<Item>,
    /// The place of the throttle time.
    pub(super) throttle: Option<usize>,
}

impl Items {
    /// Looks at a response from the byte after the correlation id.
    pub(super) fn of(api: ApiKey, version: i16, body: &[u8]) -> Self {
        let mut reading = Reading { body, open: Vec::new(), items: Self::default() };
        // What follows a malformed place is left alone.
        _ = visit_fields(api, version, body, &mut reading);
        reading.items
    }
}

struct Reading<'a> {
    body: &'a [u8],
    /// The structs around the next field, the outermost first.
    open: Vec<(&'static str, Item)>,
    items: Items,
}

/// Whether a field is the name of a topic; `of` is the field of the struct around it.
fn names_topic(field: &str, of: &str) -> bool {
    match field {
        "topic" | "topic_name" => true,
        "name" => of.contains("topic") || of == "responses",
        _ => false,
    }
}

impl Visitor for Reading<'_> {
    fn number(&mut self, number: Number) {
        let depth = self.open.len();
        let Some((_, item)) = self.open.last_mut() else { return };
        match number.field {
            "throttle_time_ms" if number.length == TIME && depth == 1 => {
                self.items.throttle = Some(number.at)
            }
            "error_code" | "partition_error_code" if number.length == CODE => item.code = Some(number.at),
            "index" | "partition" | "partition_index" | "partition_id" if number.length == TIME => {
                item.partition = Some(number.value);
            }
            _ => {}
        }
    }

    fn text(&mut self, field: &'static str, at: Range<usize>) {
        let text = self.body.get(at).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let Some((of, item)) = self.open.last_mut() else { return };
        if let Some(text) = text.filter(|text| !text.is_empty() && names_topic(field, of)) {
            item.topic = Some(text.to_owned());
        }
    }

    fn uuid(&mut self, field: &'static str, at: Range<usize>) {
        let id = self.body.get(at).and_then(<[u8]>::first_chunk).copied().map(Uuid);
        if let Some((_, item)) = self.open.last_mut()
            && field == "topic_id"
        {
            item.topic_id = id.filter(|id| !id.is_zero());
        }
    }

    fn bytes(&mut self, field: &'static str, at: Range<usize>) {
        if let Some((_, item)) = self.open.last_mut()
            && field == "records"
            && !at.is_empty()
        {
            item.records = Some(at);
        }
    }

    fn begin(&mut self, field: &'static str) {
        self.open.push((field, Item::default()));
    }

    fn end(&mut self) {
        let Some((_, mut item)) = self.open.pop() else { return };
        let is_named = item.topic.is_some() && item.topic_id.is_some();
        if item.code.is_none() && item.records.is_none() && !is_named {
            return;
        }
        // A partition is one of the topic around it.
        for (_, around) in self.open.iter().rev() {
            if item.topic.is_none() && item.topic_id.is_none() {
                (item.topic, item.topic_id) = (around.topic.clone(), around.topic_id);
            }
            item.partition = item.partition.or(around.partition);
        }
        self.items.found.push(item);
    }
}
