//! What an array of a type must have in Arrow's C interface.

use arrow_data::layout;
use arrow_schema::DataType;

/// The parts of an array.
pub(crate) struct Layout<'a> {
    /// The number of buffers; the least, if `has_views`.
    pub(crate) buffers: usize,
    /// Whether any number of buffers follow, and a last one with their lengths.
    pub(crate) has_views: bool,
    /// The bytes of each offset, if the last offset determines the length of another buffer.
    pub(crate) offset_bytes: Option<usize>,
    pub(crate) children: Vec<&'a DataType>,
    /// The type of the values, if the array contains keys of a dictionary.
    pub(crate) dictionary: Option<&'a DataType>,
}

impl<'a> Layout<'a> {
    /// Returns the layout of a type, or what is wrong with the type.
    pub(crate) fn of(data_type: &'a DataType) -> Result<Self, String> {
        if let DataType::FixedSizeBinary(size) | DataType::FixedSizeList(_, size) = data_type
            && *size < 0
        {
            return Err(format!("the type {data_type} has a negative size"));
        }
        let parts = layout(data_type);
        let validity = usize::from(parts.can_contain_null_mask);
        let lengths = usize::from(parts.variadic);
        let children = match data_type {
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::ListView(field)
            | DataType::LargeListView(field)
            | DataType::FixedSizeList(field, _)
            | DataType::Map(field, _) => vec![field.data_type()],
            DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
            DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
            DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
            _ => Vec::new(),
        };
        Ok(Self {
            buffers: validity + parts.buffers.len() + lengths,
            has_views: parts.variadic,
            offset_bytes: match data_type {
                DataType::Utf8 | DataType::Binary => Some(4),
                DataType::LargeUtf8 | DataType::LargeBinary => Some(8),
                _ => None,
            },
            children,
            dictionary: match data_type {
                DataType::Dictionary(_, values) => Some(values),
                _ => None,
            },
        })
    }
}
