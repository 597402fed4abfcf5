"""The resources that have a configuration: topics, brokers, their loggers, client metrics, groups.

Invariant: a list is complete for the types that it is asked for, or the call is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ottla._core import error_of_code
from ottla.admin.items import error_of
from ottla.admin.operation_call import Body, Call, Request
from ottla.admin.tables import Table
from ottla.error_code import ErrorCode
from ottla.errors import ConfigError, KafkaError

ResourceType: TypeAlias = Literal["topic", "broker", "broker_logger", "client_metrics", "group"]

_TYPES: dict[ResourceType, int] = {
    "topic": 2,
    "broker": 4,
    "broker_logger": 8,
    "client_metrics": 16,
    "group": 32,
}
_BEFORE_4_1 = (
    "before Kafka 4.1, brokers list client_metrics only, and before 3.7 nothing: list_topics(), "
    "describe_cluster() and list_groups() have the names of the other resources"
)
_TYPE_OF_CODE = {code: name for name, code in _TYPES.items()}


@dataclass(frozen=True, order=True)
class ConfigResource:
    """A resource that has a configuration.

    Attributes:
        type: ``topic``, ``broker``, ``broker_logger``, ``client_metrics`` or ``group``.
        name: its name; for brokers the id, or ``""`` for the defaults of all brokers.
    """

    type: ResourceType
    name: str

    def __str__(self) -> str:
        """Return the type and the name."""
        return f"{self.type} {self.name}" if self.name else f"all {self.type}s"


def resource_of(body: Body) -> ConfigResource | None:
    """Return the resource that a response names; None if its type is unknown."""
    # Before Kafka 4.1, only client metrics are listed.
    code = body.get("resource_type", _TYPES["client_metrics"])
    known = _TYPE_OF_CODE.get(code)
    return None if known is None else ConfigResource(known, body["resource_name"])


def body_of(resource: ConfigResource) -> Body:
    """Return the form of a resource in requests.

    Raises:
        ConfigError: its type is unknown.
    """
    return {"resource_type": _code(resource.type), "resource_name": resource.name}


def _code(resource_type: ResourceType) -> int:
    if resource_type not in _TYPES:
        expected = ", ".join(_TYPES)
        raise ConfigError(f"{resource_type!r} has no configuration: expected one of {expected}")
    return _TYPES[resource_type]


async def list_config_resources(
    call: Call, types: Iterable[ResourceType] | None
) -> Table[ConfigResource]:
    """List resources of types, or of all."""
    codes = sorted({_code(each) for each in (_TYPES if types is None else types)})
    # Before Kafka 4.1, the request is ListClientMetricsResources.
    older: tuple[Body, ...] = ({},) if codes == [_TYPES["client_metrics"]] else ()
    request = Request("ListConfigResources", {"resource_types": codes}, older=older)
    try:
        body = (await call.ask(request)).body
    except KafkaError as unsupported:
        if unsupported.code != ErrorCode.UNSUPPORTED_VERSION:
            raise
        message = f"{unsupported}; {_BEFORE_4_1}"
        raise error_of_code(ErrorCode.UNSUPPORTED_VERSION, message) from unsupported
    if error := error_of(body, api="ListConfigResources"):
        raise error
    found = {resource_of(each) for each in body["config_resources"]}
    asked = {_TYPE_OF_CODE[code] for code in codes}
    return Table(ConfigResource, sorted(each for each in found if each and each.type in asked))
