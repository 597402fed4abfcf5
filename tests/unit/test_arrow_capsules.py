"""Arrow's PyCapsule interface: what a wrong or hostile object passes is a typed error.

It never ends the process.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ottla import errors
from ottla.schema import Json, infer_json
from tests.support import c_arrow
from tests.support.c_arrow import Array, Exporter, Schema, Stream, array, capsule, schema


def given(make: Schema) -> Json:
    """Import a schema."""
    return Json(schema=Exporter("schema", lambda: capsule(make)), wire_format="none")


def infer(form: bytes, made: Array, *children: Schema) -> object:
    """Import an array, whose texts are samples of JSON."""
    pair = (capsule(schema(form, *children)), capsule(made))
    return infer_json(Exporter("array", lambda: pair))


def deep(levels: int) -> Schema:
    made = schema(b"i")
    for _ in range(levels):
        made = schema(b"+l", made)
    return made


def cyclic() -> Schema:
    made = schema(b"+s", schema(), schema())
    made.children = c_arrow.addresses([made, made])
    return made


RELEASED = Schema(format=b"i")
NEGATIVE_ENTRIES = c_arrow.kept(ctypes.create_string_buffer(struct.pack("i", -1)))
MANY_ENTRIES = c_arrow.kept(ctypes.create_string_buffer(struct.pack("i", 2**31 - 1)))


@pytest.mark.parametrize(
    "make",
    [
        RELEASED,
        schema(None),
        schema(b"nonsense"),
        schema(b""),
        schema(b"\xff"),
        schema(b"i", name=b"\xff"),
        schema(b"d:1"),
        schema(b"+l"),
        schema(b"+l", None),
        schema(b"+l", RELEASED),
        schema(b"+s", n_children=2),
        schema(b"+s", n_children=-1),
        schema(b"+r", schema(b"i")),
        schema(b"i", dictionary=ctypes.addressof(RELEASED)),
        schema(b"i", metadata=ctypes.addressof(NEGATIVE_ENTRIES)),
        schema(b"i", metadata=ctypes.addressof(MANY_ENTRIES)),
        deep(100_000),
        cyclic(),
    ],
    ids=lambda made: str(made.format)[:12],
)
def test_a_malformed_schema_is_an_error(make: Schema) -> None:
    with pytest.raises(errors.KafkaError):
        given(make)


TEXT = [None, struct.pack("2i", 0, 2), b"[]"]
VIEW = struct.pack("i4s2i", 20, b"[   ", 0, 0)


@pytest.mark.parametrize(
    ("form", "made"),
    [
        (b"u", Array()),
        (b"u", array(-1, TEXT)),
        (b"u", array(2**62, TEXT)),
        (b"u", array(1, TEXT, offset=-1)),
        (b"u", array(2**62, TEXT, offset=2**62)),
        (b"u", array(1, [])),
        (b"u", array(1, TEXT[:2])),
        (b"u", array(1, [*TEXT, b""])),
        (b"u", array(1, TEXT, n_buffers=-3)),
        (b"u", array(1, TEXT, buffers=None)),
        (b"u", array(1, [None, None, b"[]"])),
        (b"u", array(1, [None, TEXT[1], None])),
        (b"u", array(1, TEXT, array(0, []))),
        (b"u", array(1, TEXT, n_children=1)),
        (b"u", array(1, TEXT, dictionary=ctypes.addressof(array(0, TEXT)))),
        (b"u", array(1, [b"\0", *TEXT[1:]], null_count=7)),
        (b"u", array(1, [None, struct.pack("2i", 0, -1), b""])),
        (b"u", array(1, [None, struct.pack("2i", 3, 2), b"[]"])),
        (b"z", array(2, [None, struct.pack("3i", 0, 9, 2), b"[]"])),
        (b"U", array(1, [None, struct.pack("2q", 0, -(2**40)), b""])),
        (b"u", array(1, [None, struct.pack("2i", 0, 2), b"\xff\xff"])),
        (b"u", array(2, [None, struct.pack("3i", 0, 1, 2), "ä".encode()])),
        (b"vu", array(1, [None, VIEW, b"[]"])),
        (b"vu", array(1, [None, VIEW, b"[" + b" " * 18 + b"]", struct.pack("q", -20)])),
        (b"vu", array(1, [None, VIEW, b"[ 2]", struct.pack("q", 4)])),
        (b"vu", array(1, [None, VIEW, b"[ 2]", None])),
        (b"vz", array(1, [None, VIEW])),
        (b"w:-1", array(1, [None, b"[]"])),
        (b"+w:-1", array(1, [None])),
    ],
)
def test_a_malformed_array_is_an_error(form: bytes, made: Array) -> None:
    with pytest.raises((TypeError, errors.KafkaError)):
        infer(form, made)


@pytest.mark.parametrize(
    ("made", "children"),
    [
        (array(1, [None]), [schema(b"u", name=b"value")]),
        (array(1, [None], None), [schema(b"u", name=b"value")]),
        (array(1, [None], Array()), [schema(b"u", name=b"value")]),
        (array(2, [None], array(1, TEXT)), [schema(b"u", name=b"value")]),
    ],
)
def test_a_malformed_struct_is_an_error(made: Array, children: list[Schema]) -> None:
    with pytest.raises(errors.KafkaError):
        infer(b"+s", made, *children)


def test_keys_beyond_a_dictionary_are_an_error() -> None:
    keys = array(1, [None, struct.pack("i", 5)], dictionary=ctypes.addressof(array(1, TEXT)))
    form = schema(b"i", dictionary=ctypes.addressof(schema(b"u")))
    pair = (capsule(form), capsule(keys))
    with pytest.raises(errors.ConfigError, match="out of bounds"):
        infer_json(Exporter("array", lambda: pair))


@pytest.mark.parametrize(
    "result",
    [
        None,
        (),
        (capsule(schema(b"u")),),
        (capsule(schema(b"u")), capsule(array(1, TEXT)), None),
        [capsule(schema(b"u")), capsule(array(1, TEXT))],
        (capsule(schema(b"u")), None),
        (capsule(schema(b"u")), capsule(array(1, TEXT), b"another")),
        (capsule(array(1, TEXT)), capsule(schema(b"u"))),
    ],
)
def test_other_results_are_errors(result: Any) -> None:
    with pytest.raises(TypeError) as raised:
        infer_json(Exporter("array", lambda: result))
    assert isinstance(raised.value, errors.ConfigError)
    for method in (lambda: result, lambda: capsule(schema(), b"another")):
        with pytest.raises(errors.ConfigError):
            Json(schema=Exporter("schema", method), wire_format="none")
        with pytest.raises(errors.ConfigError):
            infer_json(Exporter("stream", method))


def test_an_exception_of_the_object_is_passed_on() -> None:
    def fail() -> object:
        raise LookupError("its own")

    for method in ("array", "stream"):
        with pytest.raises(LookupError, match="its own"):
            infer_json(Exporter(method, fail))
    with pytest.raises(LookupError, match="its own"):
        Json(schema=Exporter("schema", fail), wire_format="none")


def test_an_array_or_a_stream_is_imported_once() -> None:
    pair = pa.array(["1"]).__arrow_c_array__()
    stream = pa.chunked_array([["1"], ["2"]]).__arrow_c_stream__()
    for exporter in (Exporter("array", lambda: pair), Exporter("stream", lambda: stream)):
        assert infer_json(exporter) == infer_json([b"1"])
        with pytest.raises(errors.ConfigError, match="already"):
            infer_json(exporter)


def stream(
    codes: list[int],
    message: bytes | None = None,
    fail_schema: bool = False,
    form: bytes = b"u",
    **fields: Any,
) -> Exporter:
    """A stream of an array for each code that is zero."""
    left = iter(codes)

    def get_schema(_: int, out: int) -> int:
        if fail_schema:
            return 5
        ctypes.memmove(out, ctypes.addressof(schema(form)), ctypes.sizeof(Schema))
        return 0

    def get_next(_: int, out: int) -> int:
        code = next(left, None)
        if code == 0:
            ctypes.memmove(out, ctypes.addressof(array(1, TEXT)), ctypes.sizeof(Array))
        return code or 0

    text = None if message is None else c_arrow.kept(ctypes.create_string_buffer(message))
    made = Stream(
        get_schema=c_arrow.GetNext(get_schema),
        get_next=c_arrow.GetNext(get_next),
        get_last_error=c_arrow.GetLastError(lambda _: text and ctypes.addressof(text)),
        release=c_arrow.RELEASE[Stream],
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return Exporter("stream", lambda: capsule(c_arrow.kept(made)))


def test_a_stream_is_read_to_its_end() -> None:
    assert infer_json(stream([0, 0])) == infer_json([b"[]"])
    with pytest.raises(errors.SchemaError):
        infer_json(stream([]))


@pytest.mark.parametrize(
    ("exporter", "message"),
    [
        (stream([0], get_schema=c_arrow.GetNext()), "lacks functions"),
        (stream([0], get_next=c_arrow.GetNext()), "lacks functions"),
        (stream([0], release=c_arrow.Release()), "read already"),
        (stream([0], fail_schema=True), "code 5 and without a message"),
        (stream([0, 22], message=b"broken \xff"), "broken"),
        (stream([0, 22]), "code 22 and without a message"),
        (stream([22], get_last_error=c_arrow.GetLastError()), "without a message"),
        (stream([0], form=b"nonsense"), "nonsense"),
        (stream([0], form=b"U"), "larger than values"),
        (stream([0], form=b"n"), "buffers"),
    ],
)
def test_a_broken_stream_is_an_error(exporter: Exporter, message: str) -> None:
    with pytest.raises(errors.ConfigError, match=message):
        infer_json(exporter)


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["x", "1", None, "2"]).slice(1),
        pa.chunked_array([["1"], [], ["2", None]]).slice(1),
        pa.table({"value": [None, "1"], "other": [[["a"], []], None]}).slice(1),
        pa.table({"value": ["1", "2"], "other": pa.array(["x", "x"]).dictionary_encode()}),
        pa.table({"value": ["1"], "n": pa.nulls(1), "s": pa.array([{"a": None}]), "m": [{"b": 1}]}),
        pa.table({"value": ["1"], "o": pa.RunEndEncodedArray.from_arrays([1], ["x"])}),
        pa.table({"value": pa.array(["                    1"], pa.string_view())}),
        pa.table({"value": ["1"]}, metadata={"k": "v", "": "ä"}),
        pl.DataFrame({"value": ["1", None], "c": pl.Series(["x", "x"], dtype=pl.Categorical)}),
        pl.DataFrame({"value": ["1"], "l": [[{"a": 1}]], "d": [b"x"]}),
        pl.Series(["1", "                    1"]),
        pd.DataFrame({"value": ["1", None], "c": pd.Categorical(["x", "x"])}),
        duckdb.sql("select '1' as value, [{'a': 'b'}] as l, map {'k': 1} as m"),
        duckdb.sql("select '1' as value, [{'a': 'b'}] as l, 'x'::enum('x', 'y') as e"),
    ],
)
def test_arrays_of_other_libraries_are_imported(values: Any) -> None:
    assert "Int64" in repr(infer_json(values))


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["1", None]).slice(1, 0),
        pa.array([], pa.string()),
        pa.chunked_array([], pa.string()),
        pa.table({"value": ["1"], "other": [["a"]]}).slice(1),
    ],
)
def test_empty_arrays_are_imported(values: Any) -> None:
    with pytest.raises(errors.SchemaError, match="no samples"):
        infer_json(values)
