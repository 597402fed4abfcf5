//! Random schemas of Protobuf, and random messages of them, for the comparison with prost-reflect.

use std::fmt::Write;

use prost_reflect::prost::Message;
use prost_reflect::{
    DynamicMessage, EnumDescriptor, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage, Value,
};

/// Marsaglia's xorshift.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Mostly a small number, sometimes one near a limit.
    fn number(&mut self) -> u64 {
        let number = self.next();
        match self.below(4) {
            0 => number,
            1 => number % 300,
            2 => (number % 300).wrapping_neg(),
            _ => self.pick(&[0, 1, 1 << 31, (1 << 31) - 1, 1 << 32, 1 << 63, (1 << 63) - 1, u64::MAX]),
        }
    }
}

const SCALARS: [&str; 15] = [
    "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64",
    "float", "double", "bool", "string", "bytes",
];
const GOOGLE: [&str; 6] = ["Timestamp", "Duration", "Int32Value", "UInt64Value", "StringValue", "BoolValue"];
const MESSAGES: usize = 4;

/// A field of a schema, which a reader may lack.
struct Declaration {
    message: usize,
    oneof: Option<usize>,
    text: String,
}

/// A schema and the schemas of readers that have a part of its fields.
pub(crate) struct RandomSchema {
    is_proto2: bool,
    declarations: Vec<Declaration>,
}

impl RandomSchema {
    pub(crate) fn new(random: &mut Random) -> Self {
        let is_proto2 = random.one_in(2);
        let mut declarations = Vec::new();
        for message in 0..MESSAGES {
            let mut number = 0;
            for field in 0..1 + random.below(9) {
                let gap = if random.one_in(8) { 5_000 } else { 4 };
                number += 1 + random.below(gap);
                declarations.push(declaration(random, is_proto2, message, field, number));
            }
        }
        Self { is_proto2, declarations }
    }

    pub(crate) fn has_required(&self) -> bool {
        self.declarations.iter().any(|it| it.text.contains("required"))
    }

    pub(crate) fn text(&self) -> String {
        self.text_of(|_| true)
    }

    /// The schema without some fields; the first message keeps its first one.
    pub(crate) fn reader(&self, random: &mut Random) -> String {
        let kept: Vec<bool> = self.declarations.iter().map(|_| !random.one_in(4)).collect();
        self.text_of(|at| at == 0 || kept[at])
    }

    fn text_of(&self, is_kept: impl Fn(usize) -> bool) -> String {
        let mut text = format!("syntax = \"proto{}\";\n", if self.is_proto2 { 2 } else { 3 });
        for file in ["timestamp", "duration", "wrappers"] {
            writeln!(text, "import \"google/protobuf/{file}.proto\";").unwrap();
        }
        text += "enum E { E_ZERO = 0; E_ONE = 1; E_MINUS = -7; E_FAR = 5000; }\n";
        for message in 0..MESSAGES {
            let fields = self.declarations.iter().enumerate();
            let fields: Vec<_> =
                fields.filter(|(at, it)| it.message == message && is_kept(*at)).map(|(_, it)| it).collect();
            writeln!(text, "message M{message} {{").unwrap();
            for oneof in 0..2 {
                let members: String =
                    fields.iter().filter(|it| it.oneof == Some(oneof)).map(|it| it.text.as_str()).collect();
                if !members.is_empty() {
                    writeln!(text, "oneof o{oneof} {{ {members} }}").unwrap();
                }
            }
            text.extend(fields.iter().filter(|it| it.oneof.is_none()).map(|it| it.text.as_str()));
            text += "}\n";
        }
        text
    }
}

fn declaration(
    random: &mut Random,
    is_proto2: bool,
    message: usize,
    field: usize,
    number: usize,
) -> Declaration {
    let message_type = |random: &mut Random| match message + 1 < MESSAGES && random.one_in(2) {
        true => format!("M{}", message + 1 + random.below(MESSAGES - message - 1)),
        false => format!("google.protobuf.{}", random.pick(&GOOGLE)),
    };
    let mut oneof = None;
    let ty = match random.below(6) {
        0 => message_type(random),
        1 => "E".to_owned(),
        _ => random.pick(&SCALARS).to_owned(),
    };
    let can_be_packed = ty == "E" || (SCALARS.contains(&ty.as_str()) && ty != "string" && ty != "bytes");
    let text = match random.below(8) {
        0 => {
            let key = random.pick(&["int32", "sint64", "uint64", "bool", "string", "fixed32"]);
            format!("map<{key}, {ty}> f{field} = {number};\n")
        }
        1 | 2 if can_be_packed && random.one_in(2) => {
            format!("repeated {ty} f{field} = {number} [packed = {}];\n", random.one_in(2))
        }
        1 | 2 => format!("repeated {ty} f{field} = {number};\n"),
        3 | 4 => {
            oneof = Some(random.below(2));
            format!("{ty} f{field} = {number};\n")
        }
        5 if is_proto2 => format!("required {ty} f{field} = {number};\n"),
        6 if is_proto2 => {
            let label = random.pick(&["optional", "repeated", "required"]);
            format!("{label} group G{field} = {number} {{ optional {ty} x = 1; repeated int32 y = 2; }}\n")
        }
        5 if !is_proto2 => format!("{ty} f{field} = {number};\n"),
        _ => format!("optional {ty} f{field} = {number};\n"),
    };
    Declaration { message, oneof, text }
}

/// The bytes of a random message, or of two, which are one message when they are merged.
pub(crate) fn random_payload(random: &mut Random, message: &MessageDescriptor) -> Vec<u8> {
    let mut bytes = random_message(random, message, 0).encode_to_vec();
    while random.one_in(3) {
        bytes.extend(random_message(random, message, 0).encode_to_vec());
    }
    bytes
}

fn random_message(random: &mut Random, descriptor: &MessageDescriptor, depth: usize) -> DynamicMessage {
    let mut message = DynamicMessage::new(descriptor.clone());
    if matches!(descriptor.full_name(), "google.protobuf.Timestamp" | "google.protobuf.Duration") {
        message.set_field_by_name("seconds", Value::I64((random.next() % 1_000_000_000_000 / 4) as i64));
        message.set_field_by_name("nanos", Value::I32((random.next() % 1_000_000_000) as i32));
        return message;
    }
    for field in descriptor.fields() {
        if field.is_required() || !random.one_in(3) {
            let value = random_field(random, &field, depth);
            message.set_field(&field, value);
        }
    }
    message
}

fn random_field(random: &mut Random, field: &FieldDescriptor, depth: usize) -> Value {
    let count = random.below(4);
    match field.kind() {
        Kind::Message(entry) if field.is_map() => {
            let (key, value) = (entry.map_entry_key_field().kind(), entry.map_entry_value_field().kind());
            let entries = (0..count).map(|_| {
                let key: MapKey = random_value(random, &key, depth).into_map_key().unwrap();
                (key, random_value(random, &value, depth + 1))
            });
            Value::Map(entries.collect())
        }
        kind if field.is_list() => {
            Value::List((0..count).map(|_| random_value(random, &kind, depth + 1)).collect())
        }
        kind => random_value(random, &kind, depth),
    }
}

fn random_value(random: &mut Random, kind: &Kind, depth: usize) -> Value {
    let number = random.number();
    match kind {
        Kind::Bool => Value::Bool(number & 1 == 1),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(number as i32),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(number as i64),
        Kind::Uint32 | Kind::Fixed32 => Value::U32(number as u32),
        Kind::Uint64 | Kind::Fixed64 => Value::U64(number),
        Kind::Float => Value::F32(f32::from_bits(number as u32)),
        Kind::Double => Value::F64(f64::from_bits(number)),
        Kind::String => Value::String(random.pick(&["", "a", "ä€😀", "a longer text\0"]).to_owned()),
        Kind::Bytes => Value::Bytes(vec![number as u8; random.below(3)].into()),
        Kind::Enum(_) => Value::EnumNumber(random.pick(&[0, 1, -7, 5_000, 2, -1, i32::MAX])),
        Kind::Message(message) => Value::Message(random_message(random, message, depth + 1)),
    }
}

/// The text of a message, as `render` writes the row of its column.
pub(crate) fn expected(message: &DynamicMessage) -> String {
    let descriptor = message.descriptor();
    if descriptor.fields().len() == 0 {
        return "true".to_owned();
    }
    let declared = descriptor.descriptor_proto().field.iter();
    let fields = declared.map(|field| {
        let field = descriptor.get_field_by_name(field.name()).unwrap();
        let value = match field.supports_presence() && !message.has_field(&field) {
            true => "null".to_owned(),
            false => expected_field(&field, &message.get_field(&field)),
        };
        format!("{}={value}", field.name())
    });
    format!("({})", fields.collect::<Vec<_>>().join(" "))
}

fn expected_field(field: &FieldDescriptor, value: &Value) -> String {
    match (field.kind(), value) {
        (Kind::Message(entry), Value::Map(entries)) => {
            let kind = entry.map_entry_value_field().kind();
            let entry = |(key, value): (&MapKey, &Value)| {
                format!(
                    "{}: {}",
                    expected_value(&Kind::String, &key.clone().into()),
                    expected_value(&kind, value)
                )
            };
            let mut entries: Vec<_> = entries.iter().map(entry).collect();
            entries.sort();
            format!("{{{}}}", entries.join(", "))
        }
        (kind, Value::List(items)) => {
            let items: Vec<_> = items.iter().map(|item| expected_value(&kind, item)).collect();
            format!("[{}]", items.join(", "))
        }
        (kind, value) => expected_value(&kind, value),
    }
}

fn expected_value(kind: &Kind, value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::I32(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::U32(value) => value.to_string(),
        Value::U64(value) => value.to_string(),
        Value::F32(value) => format!("{value:?}"),
        Value::F64(value) => format!("{value:?}"),
        Value::String(value) => format!("{value:?}"),
        Value::Bytes(value) => format!("{:?}", &value[..]),
        Value::EnumNumber(number) => format!("{:?}", enum_text(kind, *number)),
        Value::Message(message) => expected_message(message),
        Value::List(_) | Value::Map(_) => panic!("no value of {kind:?}"),
    }
}

fn enum_text(kind: &Kind, number: i32) -> String {
    let Kind::Enum(descriptor) = kind else { panic!("an enum") };
    let name = EnumDescriptor::get_value(descriptor, number).map(|value| value.name().to_owned());
    name.unwrap_or_else(|| number.to_string())
}

fn expected_message(message: &DynamicMessage) -> String {
    let descriptor = message.descriptor();
    let field = |name| message.get_field_by_name(name).unwrap();
    match descriptor.full_name() {
        "google.protobuf.Timestamp" | "google.protobuf.Duration" => {
            let seconds = field("seconds").as_i64().unwrap();
            let nanos = field("nanos").as_i32().unwrap();
            format!("{}us", seconds * 1_000_000 + i64::from(nanos / 1_000))
        }
        name if name.starts_with("google.protobuf.") => {
            expected_value(&descriptor.get_field(1).unwrap().kind(), &field("value"))
        }
        _ => expected(message),
    }
}
