//! What the objects of a caller, such as Python's, can do.

use arrow_array::ArrayRef;
use arrow_schema::DataType;

/// Makes objects of decoded values.
pub trait ObjectBuilder {
    /// An object.
    type Object;
    /// Why there is none.
    type Error;

    /// The object for null.
    fn null(&self) -> Self::Object;

    /// The object of the only row of a column.
    fn value(&self, array: &ArrayRef) -> Result<Self::Object, Self::Error>;

    /// A list.
    fn list(&self, items: Vec<Self::Object>) -> Result<Self::Object, Self::Error>;

    /// A map, or a record with its fields.
    fn map(&self, entries: Vec<(&str, Self::Object)>) -> Result<Self::Object, Self::Error>;

    /// The error for bytes that are malformed.
    fn malformed(&self, reason: String) -> Self::Error;
}

/// An object that is encoded.
pub trait ObjectSource: Sized {
    /// Why it cannot be.
    type Error;

    /// Whether it is null.
    fn is_null(&self) -> bool;

    /// A column of this type, with the object in its only row.
    fn column(&self, data_type: &DataType) -> Result<ArrayRef, Self::Error>;

    /// The items of a list.
    fn items(&self) -> Result<Vec<Self>, Self::Error>;

    /// The entries of a map, or the fields of a record.
    fn entries(&self) -> Result<Vec<(String, Self)>, Self::Error>;

    /// A field of a record; null if the record lacks it.
    fn field(&self, name: &str) -> Result<Self, Self::Error>;

    /// The error for an object that the schema does not hold.
    fn unfit(&self, reason: String) -> Self::Error;
}
