"""Types between Arrow and Spark, and arrays cast from one to the other.

Called by ``read_columns``, on the driver and in tasks. Invariant: the Arrow type of a Spark type is
the one that Spark derives; a cast copies only values whose type changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from ottla.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_PRECISION = 38


def to_spark_type(arrow_type: pa.DataType, path: str) -> DataType:
    """Return the Spark type of decoded values; ``path`` names the field in errors."""
    import pyarrow as pa

    is_type = pa.types
    if is_type.is_struct(arrow_type):
        return StructType(
            [
                StructField(field.name, to_spark_type(field.type, f"{path}.{field.name}"))
                for field in arrow_type
            ]
        )
    if is_type.is_map(arrow_type):
        return MapType(
            to_spark_type(arrow_type.key_type, f"{path}.key"),
            to_spark_type(arrow_type.item_type, f"{path}.value"),
        )
    if is_type.is_list(arrow_type) or is_type.is_large_list(arrow_type):
        return ArrayType(to_spark_type(arrow_type.value_type, path))
    if is_type.is_dictionary(arrow_type):
        return to_spark_type(arrow_type.value_type, path)
    if is_type.is_timestamp(arrow_type):
        return TimestampNTZType() if arrow_type.tz is None else TimestampType()
    if is_type.is_decimal(arrow_type) and arrow_type.precision <= _MAX_PRECISION:
        return DecimalType(arrow_type.precision, arrow_type.scale)
    if is_type.is_binary(arrow_type) or is_type.is_fixed_size_binary(arrow_type):
        return BinaryType()
    for has_type, spark_type in (
        (is_type.is_boolean, BooleanType()),
        (is_type.is_int8, ByteType()),
        (is_type.is_int16, ShortType()),
        (is_type.is_uint8, ShortType()),
        (is_type.is_int32, IntegerType()),
        (is_type.is_uint16, IntegerType()),
        # As from_avro does, a time of day is a number.
        (is_type.is_time32, IntegerType()),
        (is_type.is_int64, LongType()),
        (is_type.is_uint32, LongType()),
        (is_type.is_time64, LongType()),
        (is_type.is_uint64, DecimalType(20, 0)),
        (is_type.is_float32, FloatType()),
        (is_type.is_float64, DoubleType()),
        (is_type.is_string, StringType()),
        (is_type.is_large_string, StringType()),
        (is_type.is_large_binary, BinaryType()),
        (is_type.is_date32, DateType()),
    ):
        if has_type(arrow_type):
            return spark_type
    raise SchemaError(
        f"{path} has type {arrow_type}, which Spark does not have: leave it out of the schema of "
        "the read"
    )


def to_arrow_type(spark_type: DataType) -> pa.DataType:
    """Return the Arrow type that Spark expects, with nested names and nullability."""
    import pyarrow as pa

    match spark_type:
        case StructType():
            return pa.struct([to_arrow_field(field) for field in spark_type.fields])
        case ArrayType():
            item = to_arrow_type(spark_type.elementType)
            return pa.list_(pa.field("element", item, nullable=spark_type.containsNull))
        case MapType():
            value = to_arrow_type(spark_type.valueType)
            return pa.map_(
                pa.field("key", to_arrow_type(spark_type.keyType), nullable=False),
                pa.field("value", value, nullable=spark_type.valueContainsNull),
            )
        case DecimalType():
            return pa.decimal128(spark_type.precision, spark_type.scale)
    arrow_types: dict[type[DataType], pa.DataType] = {
        BooleanType: pa.bool_(),
        ByteType: pa.int8(),
        ShortType: pa.int16(),
        IntegerType: pa.int32(),
        LongType: pa.int64(),
        FloatType: pa.float32(),
        DoubleType: pa.float64(),
        StringType: pa.string(),
        BinaryType: pa.binary(),
        DateType: pa.date32(),
        TimestampType: pa.timestamp("us", tz="UTC"),
        TimestampNTZType: pa.timestamp("us"),
    }
    return arrow_types[type(spark_type)]


def to_arrow_field(field: StructField) -> pa.Field:
    """Return the Arrow field of a Spark field."""
    import pyarrow as pa

    return pa.field(field.name, to_arrow_type(field.dataType), nullable=field.nullable)


def cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the array with exactly this type; fields of structs are found by name.

    Nanoseconds of timestamps are dropped, as Spark does.

    Raises:
        pyarrow.ArrowInvalid: a timestamp is beyond the range of microseconds.
    """
    import pyarrow as pa

    is_type = pa.types
    if array.type.equals(target, check_metadata=True):
        return array
    if is_type.is_struct(target):
        children = [
            cast(array.field(array.type.get_field_index(field.name)), field.type)
            for field in target
        ]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)
    if is_type.is_map(target):
        entry_type = pa.struct([target.key_field, target.item_field])
        entries = pa.StructArray.from_arrays(
            [cast(array.keys, target.key_type), cast(array.items, target.item_type)],
            fields=list(entry_type),
        )
        return _with_child(array, target, entries)
    if is_type.is_list(target) and is_type.is_list(array.type):
        return _with_child(array, target, cast(array.values, target.value_type))
    if is_type.is_time(array.type):
        number = pa.int32() if is_type.is_time32(array.type) else pa.int64()
        return array.view(number).cast(target)
    drops = is_type.is_timestamp(array.type) and array.type.unit == "ns"
    return array.cast(target, safe=not drops)


def field_of(array: pa.Array, name: str) -> pa.Array:
    """Return a field of a struct column, null where the struct is."""
    import pyarrow.compute as pc

    return pc.struct_field(array, [array.type.get_field_index(name)])


def _with_child(array: pa.Array, target: pa.DataType, child: pa.Array) -> pa.Array:
    # With the same validity and offsets, which refer to the whole child.
    import pyarrow as pa

    return pa.Array.from_buffers(
        target, len(array), array.buffers()[:2], array.null_count, array.offset, [child]
    )
