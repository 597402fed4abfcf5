//! Random encodings of any message, generated from its schema without the crate's own writer.

use std::cmp::Ordering;

use super::notation::{Field, Schema, Ty};

/// A small seeded generator (SplitMix64): the same seed gives the same bytes everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.next() % u64::from(bound)).unwrap_or(0)
    }

    fn chance(&mut self) -> bool {
        self.below(10) < 7
    }
}

/// The shape of the generated encodings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Everything random: short arrays, some nulls, some defaults.
    Varied,
    /// Arrays at `depth` hold `count` of the smallest items that a valid message has (empty arrays inside,
    /// names of one letter); arrays above hold one.
    Wide { depth: u32, count: u32 },
    /// As [`Shape::Wide`], with empty items: empty strings, nulls.
    WideEmpty { depth: u32, count: u32 },
}

/// One encoding of `schema` in `version`.
pub(crate) fn encoding(schema: &Schema, version: i16, shape: Shape, seed: u64) -> Vec<u8> {
    let mut generator = Generator {
        schema,
        version,
        flexible: schema.flexible.contains(version),
        shape,
        random: Random(seed),
        out: Vec::new(),
    };
    generator.fields(schema.name, 0);
    generator.out
}

struct Generator<'a> {
    schema: &'a Schema,
    version: i16,
    flexible: bool,
    shape: Shape,
    random: Random,
    out: Vec<u8>,
}

impl Generator<'_> {
    fn fields(&mut self, name: &str, depth: u32) {
        let schema = self.schema;
        let present = schema.fields(name).iter().filter(|field| field.versions.contains(self.version));
        let (tagged, plain): (Vec<_>, Vec<_>) = present.partition(|field| field.tag.is_some());
        for field in plain {
            self.field(field, depth);
        }
        if self.flexible {
            self.tagged(tagged, depth);
        }
    }

    fn tagged(&mut self, mut fields: Vec<&Field>, depth: u32) {
        let varied = matches!(self.shape, Shape::Varied);
        fields.retain(|_| varied && self.random.chance());
        fields.sort_by_key(|field| field.tag);
        let unknown = varied && self.random.below(20) == 0;
        self.uvarint(u32::try_from(fields.len()).unwrap_or(0) + u32::from(unknown));
        for field in fields {
            let before = std::mem::take(&mut self.out);
            self.field(field, depth);
            let value = std::mem::replace(&mut self.out, before);
            self.uvarint(field.tag.unwrap_or(0));
            self.uvarint(u32::try_from(value.len()).unwrap_or(0));
            self.out.extend(value);
        }
        if unknown {
            self.uvarint(1000);
            self.uvarint(3);
            self.out.extend([1, 2, 3]);
        }
    }

    fn field(&mut self, field: &Field, depth: u32) {
        let nullable = field.nullable.contains(self.version);
        let null = nullable
            && match self.shape {
                Shape::Varied => !self.random.chance(),
                // The arrays down to `depth` must not be null.
                Shape::Wide { depth: to, .. } | Shape::WideEmpty { depth: to, .. } => {
                    depth > to || !matches!(field.ty, Ty::Array(_) | Ty::Struct(_))
                }
            };
        match &field.ty {
            Ty::Struct(_) if null => self.out.push(0xff),
            Ty::Struct(_) if nullable => {
                self.out.push(1);
                self.value(&field.ty, depth);
            }
            ty if null => self.length(ty, None),
            ty => self.value(ty, depth),
        }
    }

    fn value(&mut self, ty: &Ty, depth: u32) {
        match ty {
            Ty::Fixed(name) => self.fixed(name),
            Ty::Struct(name) => self.fields(name, depth + 1),
            Ty::Str | Ty::Bytes => {
                let length = match self.shape {
                    Shape::Varied if self.random.below(20) == 0 => 100 + self.random.below(100),
                    Shape::Varied => self.random.below(8),
                    Shape::Wide { .. } => u32::from(*ty == Ty::Str),
                    Shape::WideEmpty { .. } => 0,
                };
                self.length(ty, Some(length));
                for _ in 0..length {
                    let letter = b'a' + self.random.next().to_le_bytes()[0] % 26;
                    self.out.push(letter);
                }
            }
            Ty::Array(item) => {
                let count = match self.shape {
                    Shape::Varied if depth > 2 => self.random.below(2),
                    Shape::Varied => self.random.below(4),
                    Shape::Wide { depth: to, count } | Shape::WideEmpty { depth: to, count } => {
                        match depth.cmp(&to) {
                            Ordering::Less => 1,
                            Ordering::Equal => count,
                            Ordering::Greater => 0,
                        }
                    }
                };
                self.length(ty, Some(count));
                for _ in 0..count {
                    self.value(item, depth + 1);
                }
            }
        }
    }

    fn fixed(&mut self, name: &str) {
        let value = self.random.next() >> self.random.below(64);
        match name {
            "bool" => self.out.push(u8::from(value & 1 == 1)),
            "i8" => self.out.push(value.to_be_bytes()[7]),
            "i16" | "u16" => self.out.extend(&value.to_be_bytes()[6..]),
            "i32" | "u32" => self.out.extend(&value.to_be_bytes()[4..]),
            "Uuid" => self.out.extend([value.to_be_bytes(), value.to_le_bytes()].as_flattened()),
            _ => self.out.extend(value.to_be_bytes()),
        }
    }

    fn length(&mut self, ty: &Ty, length: Option<u32>) {
        if self.flexible {
            self.uvarint(length.map_or(0, |n| n + 1));
        } else {
            let wide = length.map_or([0xff; 4], u32::to_be_bytes);
            self.out.extend(if *ty == Ty::Str { &wide[2..] } else { &wide[..] });
        }
    }

    fn uvarint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.out.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.out.push(value.to_le_bytes()[0]);
    }
}
