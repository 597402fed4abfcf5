//! What the objects of a caller, such as Python's, can do.

use std::fmt::Display;
use std::sync::Arc;

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

    /// The error of a value at a place in the object, such as `items[2].price`.
    fn within(&self, error: Self::Error, place: &dyn Display) -> Self::Error;
}

/// An object that is encoded. Its place, such as `items[2].price`, is for errors, and empty for the whole object.
pub trait ObjectSource: Sized {
    /// Why it cannot be.
    type Error;

    /// Whether it is null.
    fn is_null(&self) -> bool;

    /// A column of this type, with the object in its only row.
    fn column(&self, data_type: &DataType, place: &dyn Display) -> Result<ArrayRef, Self::Error>;

    /// The items of a list.
    fn items(&self, place: &dyn Display) -> Result<Vec<Self>, Self::Error>;

    /// The entries of a map.
    fn entries(&self, place: &dyn Display) -> Result<Vec<(String, Self)>, Self::Error>;

    /// The fields of a record with these names; `None` for one that it lacks. One with another name is an error.
    fn fields(&self, names: &[Arc<str>], place: &dyn Display) -> Result<Vec<Option<Self>>, Self::Error>;

    /// The error for an object that the schema does not hold.
    fn unfit(reason: String, place: &dyn Display) -> Self::Error;
}
