//! Plans the columns of the selected fields of a message from its descriptor.
//!
//! Invariants: the shape of a message, with named types expanded, is checked against the limits before its columns are
//! built. An unselected field has no column, but it still replaces a selected field of the same oneof.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field};
use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};

use super::column::Column;
use super::column::collections::{ListColumn, MapColumn};
use super::column::message::{FieldColumn, MessageColumn, OneofField};
use super::enumeration::Names;
use super::input::{BYTES, FIXED32, FIXED64, START_GROUP, VARINT};
use super::json::{JsonColumn, JsonKind};
use super::scalar::Encoding;
use super::storage::{Numbers, Texts};
use super::time::{TimeColumn, TimeKind};
use super::unsupported;
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::projection::{Selection, join};
use crate::shape::{RECURSIVE, Shape, check_level};

/// Creates the columns of a message whose rows may be null.
pub(super) fn plan(
    message: &MessageDescriptor,
    selection: &Selection,
    limits: &SchemaLimits,
) -> Result<MessageColumn, SchemaError> {
    check_selection(message, selection, "")?;
    let mut planner = Planner { limits: *limits, ..Planner::default() };
    planner.message_shape(message, selection, 1)?;
    if message.fields().len() == 0 {
        return Err(unsupported(format!("the message {} has no fields", message.full_name())));
    }
    Ok(planner.message(message, selection, true))
}

/// Refuses selected names that the message has no field for.
fn check_selection(
    message: &MessageDescriptor,
    selection: &Selection,
    path: &str,
) -> Result<(), SchemaError> {
    if selection.is_all() {
        return Ok(());
    }
    let fields: Vec<_> = message.fields().collect();
    selection.check_names(path, fields.iter().map(FieldDescriptor::name))?;
    for field in &fields {
        let Some(inner) = selection.get(field.name()) else { continue };
        let path = join(path, field.name());
        let kind = match field.kind() {
            Kind::Message(entry) if field.is_map() => entry.map_entry_value_field().kind(),
            kind => kind,
        };
        match kind {
            Kind::Message(of) if of.fields().len() > 0 && WellKnown::of(&of).is_none() => {
                check_selection(&of, inner, &path)?;
            }
            _ => inner.check_leaf(&path)?,
        }
    }
    Ok(())
}

/// Returns the selected fields of a message.
fn selected<'a>(
    message: &'a MessageDescriptor,
    selection: &'a Selection,
) -> impl Iterator<Item = (FieldDescriptor, &'a Selection)> {
    message.fields().filter_map(|field| {
        let inner = selection.get(field.name())?;
        Some((field, inner))
    })
}

/// Returns the wire type of a value in a oneof.
fn wire_of(kind: &Kind, is_group: bool) -> u8 {
    match kind {
        Kind::Message(_) if is_group => START_GROUP,
        Kind::Message(_) | Kind::String | Kind::Bytes => BYTES,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => FIXED32,
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => FIXED64,
        _ => VARINT,
    }
}

/// Returns the type of a field's column.
pub(super) fn field_type(field: &FieldDescriptor) -> DataType {
    Planner::default().field(field, &Selection::All).data_type()
}

/// Returns the type of a column of values.
pub(super) fn type_of_value(kind: &Kind) -> DataType {
    Planner::default().value(kind, &Selection::All, false, false).data_type()
}

/// A Google message that has its own column type.
pub(super) enum WellKnown {
    Time(TimeKind),
    Json(JsonKind),
    Wrapper(FieldDescriptor),
}

impl WellKnown {
    /// Returns the kind of a Google message. The imports `google/protobuf/…` are always Google's own files.
    pub(super) fn of(message: &MessageDescriptor) -> Option<Self> {
        if !message.parent_file().name().starts_with("google/protobuf/") {
            return None;
        }
        Some(match message.full_name().strip_prefix("google.protobuf.")? {
            "Timestamp" => Self::Time(TimeKind::Timestamp),
            "Duration" => Self::Time(TimeKind::Duration),
            "Struct" => Self::Json(JsonKind::Struct),
            "Value" => Self::Json(JsonKind::Value),
            "ListValue" => Self::Json(JsonKind::List),
            "BoolValue" | "Int32Value" | "Int64Value" | "UInt32Value" | "UInt64Value" | "FloatValue"
            | "DoubleValue" | "StringValue" | "BytesValue" => Self::Wrapper(message.get_field(1)?),
            _ => return None,
        })
    }
}

#[derive(Default)]
struct Planner {
    limits: SchemaLimits,
    /// The shapes of whole messages and enums, by full name.
    shapes: HashMap<String, Shape>,
    /// The whole messages that contain the current one.
    open: Vec<String>,
    enums: HashMap<String, Arc<Names>>,
}

impl Planner {
    fn message_shape(
        &mut self,
        message: &MessageDescriptor,
        selection: &Selection,
        level: usize,
    ) -> Result<Shape, SchemaError> {
        check_level(level).map_err(unsupported)?;
        if !selection.is_all() {
            return self.fields_shape(message, selection, level);
        }
        let name = message.full_name();
        if let Some(shape) = self.shapes.get(name) {
            return Ok(*shape);
        }
        if self.open.iter().any(|open| open == name) {
            return Err(unsupported(format!("the message {name} {RECURSIVE}")));
        }
        self.open.push(name.to_owned());
        let shape = self.fields_shape(message, selection, level)?;
        self.open.pop();
        self.shapes.insert(name.to_owned(), shape);
        Ok(shape)
    }

    fn fields_shape(
        &mut self,
        message: &MessageDescriptor,
        selection: &Selection,
        level: usize,
    ) -> Result<Shape, SchemaError> {
        let mut shapes = Vec::with_capacity(message.fields().len());
        for (field, inner) in selected(message, selection) {
            let shape = self.field_shape(&field, inner, level + 1)?;
            shapes.push(shape.named(field.name(), &self.limits).map_err(unsupported)?);
        }
        Shape::of(&shapes, false, &self.limits).map_err(unsupported)
    }

    fn field_shape(
        &mut self,
        field: &FieldDescriptor,
        selection: &Selection,
        level: usize,
    ) -> Result<Shape, SchemaError> {
        let limits = self.limits;
        let of = |parts: &[Shape]| Shape::of(parts, false, &limits).map_err(unsupported);
        match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                let value = self.value_shape(&entry.map_entry_value_field().kind(), selection, level + 2)?;
                of(&[of(&[Shape::LEAF, value])?])
            }
            kind if field.is_list() => of(&[self.value_shape(&kind, selection, level + 1)?]),
            kind => self.value_shape(&kind, selection, level),
        }
    }

    fn value_shape(
        &mut self,
        kind: &Kind,
        selection: &Selection,
        level: usize,
    ) -> Result<Shape, SchemaError> {
        match kind {
            Kind::Message(message) if WellKnown::of(message).is_none() => {
                self.message_shape(message, selection, level)
            }
            Kind::Enum(of) if !self.shapes.contains_key(of.full_name()) => {
                self.shapes.insert(of.full_name().to_owned(), Shape::LEAF);
                let names = of.values().try_for_each(|value| self.limits.check_name(value.name()));
                names.map_err(unsupported)?;
                Ok(Shape::LEAF)
            }
            _ => Ok(Shape::LEAF),
        }
    }

    /// Returns the number of columns of a value. Its shape must be within the limits.
    fn width(&mut self, kind: &Kind, selection: &Selection) -> usize {
        self.value_shape(kind, selection, 1).map_or(1, Shape::types)
    }

    fn message(
        &mut self,
        message: &MessageDescriptor,
        selection: &Selection,
        is_nullable: bool,
    ) -> MessageColumn {
        let oneofs: Vec<_> = message.oneofs().filter(|oneof| !oneof.is_synthetic()).collect();
        let oneof_of = |field: &FieldDescriptor| {
            let oneof = field.containing_oneof()?;
            oneofs.iter().position(|it| *it == oneof)
        };
        let fields = selected(message, selection).map(|(field, inner)| FieldColumn {
            name: field.name().to_owned(),
            number: field.number(),
            column: self.field(&field, inner),
            oneof: oneof_of(&field),
            is_required: field.is_required(),
            width: self.width(&field.kind(), inner),
        });
        // Columns follow the order of the file, which people read, not the order of the field numbers.
        let mut fields: Vec<FieldColumn> = fields.collect();
        let declared = &message.descriptor_proto().field;
        let place = |number: u32| declared.iter().position(|it| u32::try_from(it.number()) == Ok(number));
        fields.sort_by_cached_key(|field| place(field.number));
        let others = message.fields().filter(|field| selection.get(field.name()).is_none());
        let others = others.filter_map(|field| {
            let oneof = oneof_of(&field).filter(|oneof| fields.iter().any(|it| it.oneof == Some(*oneof)))?;
            Some(OneofField { number: field.number(), wire: wire_of(&field.kind(), field.is_group()), oneof })
        });
        let others = others.collect();
        MessageColumn::new(fields, others, is_nullable)
    }

    fn field(&mut self, field: &FieldDescriptor, selection: &Selection) -> Column {
        let kind = field.kind();
        match &kind {
            Kind::Message(entry) if field.is_map() => {
                let value = entry.map_entry_value_field().kind();
                let mut part = |name: &str, number, kind: &Kind, inner: &Selection| FieldColumn {
                    name: name.to_owned(),
                    number,
                    column: self.value(kind, inner, false, false),
                    oneof: None,
                    is_required: false,
                    width: 0,
                };
                let key = part("key", 1, &entry.map_entry_key_field().kind(), &Selection::All);
                let pair = vec![key, part("value", 2, &value, selection)];
                let entries = MessageColumn::new(pair, Vec::new(), false);
                let entry_field = Field::new("entries", entries.data_type(), false);
                let width = 1 + self.width(&value, selection);
                Column::Map(Box::new(MapColumn::new(entries, entry_field.into(), width)))
            }
            _ if field.is_list() => {
                let items = self.value(&kind, selection, false, field.is_group());
                let item_field = Field::new_list_field(items.data_type(), false);
                let width = self.width(&kind, selection);
                Column::List(Box::new(ListColumn::new(items, item_field.into(), width)))
            }
            _ => {
                let is_nullable = field.supports_presence() && !field.is_required();
                self.value(&kind, selection, is_nullable, field.is_group())
            }
        }
    }

    fn value(&mut self, kind: &Kind, selection: &Selection, is_nullable: bool, is_group: bool) -> Column {
        use Encoding::{Fixed, Fixed32, Varint, Varint32, Zigzag};
        let int32 = |encoding| Column::I32(encoding, Numbers::new(0, is_nullable));
        let int64 = |encoding| Column::I64(encoding, Numbers::new(0, is_nullable));
        let uint64 = |encoding| Column::U64(encoding, Numbers::new(0, is_nullable));
        match kind {
            Kind::Bool => Column::Bool(Numbers::new(false, is_nullable)),
            Kind::Int32 => int32(Varint),
            Kind::Sint32 => int32(Zigzag),
            Kind::Sfixed32 => int32(Fixed),
            Kind::Int64 => int64(Varint),
            Kind::Sint64 => int64(Zigzag),
            Kind::Sfixed64 => int64(Fixed),
            Kind::Uint32 => int64(Varint32),
            Kind::Fixed32 => int64(Fixed32),
            Kind::Uint64 => uint64(Varint),
            Kind::Fixed64 => uint64(Fixed),
            Kind::Float => Column::F32(Numbers::new(0.0, is_nullable)),
            Kind::Double => Column::F64(Numbers::new(0.0, is_nullable)),
            Kind::String => Column::Text(Texts::new("", is_nullable)),
            Kind::Bytes => Column::Binary(Texts::new("", is_nullable)),
            Kind::Enum(descriptor) => {
                let default = descriptor.default_value().number();
                Column::Enum(self.names(descriptor), Numbers::new(default, is_nullable))
            }
            Kind::Message(message) => match WellKnown::of(message) {
                Some(WellKnown::Time(kind)) => Column::Time(Box::new(TimeColumn::new(kind, is_nullable))),
                Some(WellKnown::Json(kind)) => Column::Json(Box::new(JsonColumn::new(kind, is_nullable))),
                Some(WellKnown::Wrapper(value)) => {
                    Column::Wrapper(Box::new(self.value(&value.kind(), &Selection::All, is_nullable, false)))
                }
                None => {
                    let message = Box::new(self.message(message, selection, is_nullable));
                    Column::Message { is_group, message }
                }
            },
        }
    }

    fn names(&mut self, descriptor: &EnumDescriptor) -> Arc<Names> {
        let names = self.enums.entry(descriptor.full_name().to_owned());
        names.or_insert_with(|| Arc::new(Names::new(descriptor))).clone()
    }
}
