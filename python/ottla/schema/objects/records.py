"""The fields of classes: dataclasses, attrs, pydantic, msgspec, NamedTuple and TypedDict.

A class is recognized by the attribute that its library gives it. The library is then looked up in
``sys.modules``, where the class has put it.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import operator
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, get_type_hints

from ottla.errors import SchemaError
from ottla.schema.objects.shapes import NO_DEFAULT, FieldShape, RecordShape, Shape

# Factories whose result is always the same.
_CONSTANT_FACTORIES = (list, dict, set, frozenset, tuple, str, int, float, bool)


@dataclasses.dataclass(frozen=True)
class _Field:
    """A field as its library has it."""

    name: str
    wire_name: str
    argument: str
    default: Any
    is_optional: bool
    hint: Any = None
    doc: str | None = None


def read_record(read_shape: Callable[[Any, str], Shape], hint: Any, path: str) -> RecordShape:
    """Return the shape of a class with fields, or of a generic one with its arguments.

    Raises:
        SchemaError: it is no such class, or the type of a field has no shape.
    """
    cls = typing.get_origin(hint) or hint
    kind = kind_of(cls)
    if kind is None:
        raise SchemaError(
            f"{path} is of type {getattr(cls, '__name__', cls)}, for which there is no "
            "schema: expected a dataclass, a class of pydantic, attrs or msgspec, a "
            "TypedDict or NamedTuple, an enumeration, or int, datetime, list[X], dict[str, X] …"
        )
    read = list(_READERS[kind](cls))
    hints = _hints(cls, path) if any(each.hint is None for each in read) else {}
    bound = _bound(hint, cls)
    fields = []
    for each in read:
        field_hint = hints.get(each.name) if each.hint is None else each.hint
        if field_hint is None:
            raise SchemaError(f"{path}.{each.name} has no annotation")
        fields.append(
            FieldShape(
                name=each.name,
                wire_name=each.wire_name,
                argument=each.argument,
                shape=read_shape(_substituted(field_hint, bound), f"{path}.{each.name}"),
                default=_stated(each.default),
                is_optional=each.is_optional,
                doc=each.doc,
            )
        )
    if not fields:
        raise SchemaError(f"{path}: {cls.__name__} has no fields")
    if kind in ("dataclass", "attrs"):
        _check_constructor(cls, {each.argument for each in read}, path)
    make, get = _makers(kind, cls)
    return RecordShape(_name(hint, cls), _doc(cls, kind), tuple(fields), make, get, cls)


def _check_constructor(cls: Any, arguments: set[str], path: str) -> None:
    """Refuse a class whose objects could be written, and never be made from what was written."""
    for name, each in inspect.signature(cls).parameters.items():
        is_variable = each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        if name not in arguments and each.default is each.empty and not is_variable:
            raise SchemaError(
                f"{path}: the constructor of {cls.__name__} needs {name}, which is not a field: "
                "give it a default, or make it a field"
            )


def kind_of(cls: Any) -> str | None:
    """Return the kind of a class with fields, or None."""
    if hasattr(cls, "__required_keys__") and hasattr(cls, "__total__"):
        return "TypedDict"
    if not isinstance(cls, type):
        return None
    if hasattr(cls, "__struct_fields__"):
        return "msgspec"
    if hasattr(cls, "__pydantic_fields__") and hasattr(cls, "model_validate"):
        return "pydantic"
    if hasattr(cls, "__attrs_attrs__"):
        return "attrs"
    if dataclasses.is_dataclass(cls):
        return "dataclass"
    if issubclass(cls, tuple) and hasattr(cls, "_field_defaults"):
        return "NamedTuple"
    return None


def _hints(cls: Any, path: str) -> dict[str, Any]:
    try:
        if sys.version_info < (3, 11) and dataclasses.is_dataclass(cls):
            return _hints_of_fields(cls)
        return get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise SchemaError(
            f"{path}: the annotations of {cls.__name__} cannot be resolved: {error}; define the "
            "class and what it names in a module"
        ) from error
    except TypeError as error:
        raise SchemaError(f"{path}: invalid annotations of {cls.__name__}: {error}") from error


def _hints_of_fields(cls: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields: `get_type_hints` of Python 3.10 refuses InitVar."""
    fields = {each.name for each in dataclasses.fields(cls)}
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        annotations = vars(base).get("__annotations__", {})
        own = {name: each for name, each in annotations.items() if name in fields}
        holder = types.SimpleNamespace(__annotations__=own)
        names = vars(sys.modules[base.__module__])
        hints |= get_type_hints(holder, names, dict(vars(base)), include_extras=True)
    return hints


def _bound(hint: Any, cls: Any) -> dict[Any, Any]:
    """Return the arguments of a generic class by its type variables."""
    return dict(zip(getattr(cls, "__parameters__", ()), typing.get_args(hint), strict=False))


def _substituted(hint: Any, bound: dict[Any, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return bound.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    # A class that is generic has parameters, but no arguments to put in their place.
    if not bound or not parameters or typing.get_origin(hint) is None:
        return hint
    return hint[tuple(bound.get(each, each) for each in parameters)]


def _name(hint: Any, cls: Any) -> str:
    """Return a name of Avro: ``Page_Order`` for ``Page[Order]``."""
    arguments = [getattr(each, "__name__", str(each)) for each in typing.get_args(hint)]
    return re.sub(r"\W+", "_", "_".join([cls.__name__, *arguments])).strip("_")


def _doc(cls: Any, kind: str) -> str | None:
    """Return the docstring, unless the library wrote it."""
    text = cls.__dict__.get("__doc__")
    if not text or kind == "NamedTuple" or text.startswith(f"{cls.__name__}("):
        return None
    return inspect.cleandoc(text)


def _stated(default: Any) -> Any:
    # No schema states these, since JSON does not have them.
    is_unstated = isinstance(default, float) and not math.isfinite(default)
    return NO_DEFAULT if is_unstated else default


def _constant(factory: Any) -> Any:
    return factory() if factory in _CONSTANT_FACTORIES else NO_DEFAULT


def _of_dataclass(cls: Any) -> Iterator[_Field]:
    for each in dataclasses.fields(cls):
        if not each.init:
            continue
        has_factory = each.default_factory is not dataclasses.MISSING
        has_default = each.default is not dataclasses.MISSING
        default = _constant(each.default_factory) if has_factory else NO_DEFAULT
        default = each.default if has_default else default
        doc = each.metadata.get("doc")
        yield _Field(each.name, each.name, each.name, default, has_factory or has_default, doc=doc)


def _of_attrs(cls: Any) -> Iterator[_Field]:
    attr = sys.modules["attr"]
    for each in cls.__attrs_attrs__:
        if not each.init:
            continue
        has_default = each.default is not attr.NOTHING
        default = each.default if has_default else NO_DEFAULT
        if isinstance(default, attr.Factory):
            default = NO_DEFAULT if default.takes_self else _constant(default.factory)
        doc = each.metadata.get("doc")
        yield _Field(each.name, each.name, each.alias, default, has_default, doc=doc)


def _of_msgspec(cls: Any) -> Iterator[_Field]:
    msgspec = sys.modules["msgspec"]
    for each in msgspec.structs.fields(cls):
        has_factory = each.default_factory is not msgspec.NODEFAULT
        has_default = each.default is not msgspec.NODEFAULT
        default = _constant(each.default_factory) if has_factory else NO_DEFAULT
        default = each.default if has_default else default
        is_optional = has_factory or has_default
        yield _Field(each.name, each.encode_name, each.name, default, is_optional, each.type)


def _of_pydantic(cls: Any) -> Iterator[_Field]:
    by_name = cls.model_config.get("validate_by_name") or cls.model_config.get("populate_by_name")
    for name, each in cls.__pydantic_fields__.items():
        default = NO_DEFAULT
        if not each.is_required():
            has_factory = each.default_factory is not None
            default = _constant(each.default_factory) if has_factory else each.default
        hint = each.annotation
        if each.metadata:
            hint = operator.getitem(typing.Annotated, (hint, *each.metadata))
        alias = each.validation_alias
        if alias is not None and not isinstance(alias, str):
            alias = next(
                (one for one in getattr(alias, "choices", ()) if isinstance(one, str)), None
            )
        argument = name if by_name or alias is None else alias
        wire_name = each.serialization_alias or each.alias or name
        is_optional = not each.is_required()
        yield _Field(name, wire_name, argument, default, is_optional, hint, each.description)


def _of_named_tuple(cls: Any) -> Iterator[_Field]:
    for name in cls._fields:
        default = cls._field_defaults.get(name, NO_DEFAULT)
        yield _Field(name, name, name, default, name in cls._field_defaults)


def _of_typed_dict(cls: Any) -> Iterator[_Field]:
    for name, hint in _hints(cls, cls.__name__).items():
        if name not in cls.__required_keys__:
            raise SchemaError(
                f"{cls.__name__}.{name} may be missing: a record has all fields, so use X | None"
            )
        yield _Field(name, name, name, NO_DEFAULT, is_optional=False, hint=hint)


_READERS: dict[str, Callable[[Any], Iterator[_Field]]] = {
    "dataclass": _of_dataclass,
    "attrs": _of_attrs,
    "msgspec": _of_msgspec,
    "pydantic": _of_pydantic,
    "NamedTuple": _of_named_tuple,
    "TypedDict": _of_typed_dict,
}


def _makers(
    kind: str, cls: Any
) -> tuple[Callable[[dict[str, Any]], Any], Callable[[Any, str], Any]]:
    if kind == "TypedDict":
        return dict, lambda value, name: value[name]
    if kind == "pydantic" and getattr(cls, "__pydantic_root_model__", False):
        return lambda arguments: cls.model_validate(arguments["root"]), getattr
    if kind == "pydantic":
        return cls.model_validate, getattr
    return lambda arguments: cls(**arguments), getattr
