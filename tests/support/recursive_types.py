"""Types that contain themselves, for the tests of objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import attrs
import msgspec
import pydantic
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor


@dataclass
class Node:
    """A tree."""

    name: str
    children: list[Node] = field(default_factory=list)


@attrs.define
class AttrsNode:
    """The same of attrs."""

    name: str
    children: list[AttrsNode] = attrs.field(factory=list)


class ModelNode(pydantic.BaseModel):
    """The same of pydantic."""

    name: str
    children: list[ModelNode] = []


class StructNode(msgspec.Struct):
    """The same of msgspec."""

    name: str
    children: list[StructNode] = []


class TupleNode(NamedTuple):
    """The same as a tuple."""

    name: str
    children: list[TupleNode] = []  # noqa: RUF012 - the default of a field


@dataclass
class Link:
    """A linked list."""

    value: int
    next: Link | None = None


@dataclass
class Folder:
    """One of two classes that contain each other."""

    name: str
    entries: dict[str, File | Folder] = field(default_factory=dict)


@dataclass
class File:
    """The other one."""

    size: int
    owner: Folder | None = None


NODES: list[Any] = [Node, AttrsNode, ModelNode, StructNode, TupleNode]


def tree(of: Any) -> Any:
    """Return a tree of three levels."""
    leaf = of(name="leaf", children=[])
    return of(name="root", children=[of(name="inner", children=[leaf, leaf]), leaf])


def links(count: int) -> Link:
    """Return a linked list."""
    made = Link(0)
    for value in range(1, count):
        made = Link(value, made)
    return made


def cycle() -> Link:
    """Return a list whose end is its beginning."""
    made = Link(1)
    made.next = made
    return made


def messages() -> tuple[Any, Any]:
    """Return the classes of a recursive message, and of one whose fields are all messages."""
    file = descriptor_pb2.FileDescriptorProto(name="trees.proto", package="r", syntax="proto3")
    message = FieldDescriptor.TYPE_MESSAGE
    node = file.message_type.add(name="Node")
    node.field.add(name="name", number=1, label=1, type=9)
    node.field.add(name="children", number=2, label=3, type=message, type_name=".r.Node")
    outer = file.message_type.add(name="Outer")
    outer.field.add(name="nodes", number=1, label=3, type=message, type_name=".r.Node")
    outer.field.add(name="next", number=2, label=1, type=message, type_name=".r.Outer")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    one, two = (pool.FindMessageTypeByName(name) for name in ("r.Node", "r.Outer"))
    return message_factory.GetMessageClass(one), message_factory.GetMessageClass(two)


def message_of_maps() -> Any:
    """Return the class of a recursive message with maps, one of them of texts."""
    file = descriptor_pb2.FileDescriptorProto(name="maps.proto", package="r", syntax="proto3")
    message = FieldDescriptor.TYPE_MESSAGE
    node = file.message_type.add(name="Named")
    for number, (name, entry, kind, of) in enumerate(
        [("children", "ChildrenEntry", message, ".r.Named"), ("labels", "LabelsEntry", 9, None)], 1
    ):
        node.field.add(
            name=name, number=number, label=3, type=message, type_name=f".r.Named.{entry}"
        )
        nested = node.nested_type.add(name=entry)
        nested.options.map_entry = True
        nested.field.add(name="key", number=1, label=1, type=9)
        nested.field.add(name="value", number=2, label=1, type=kind, type_name=of)
    node.field.add(name="next", number=3, label=1, type=message, type_name=".r.Named")
    node.field.add(name="name", number=4, label=1, type=9)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("r.Named"))
