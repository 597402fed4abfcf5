"""Client quotas: describe and alter them (KIP-546).

Invariant: an entity names each of its types once: a user, a client id, both, or an address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ottla._internal import arguments
from ottla._internal.required_arguments import instance
from ottla.admin.destinations import to_controller
from ottla.admin.items import Results, error_of, settle
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.plan import Plan, PlannedChange
from ottla.errors import ConfigError, KafkaError

EntityType: TypeAlias = Literal["user", "client-id", "ip"]

_ENTITY_TYPES = ("user", "client-id", "ip")
_ENTITY = "QuotaEntity(user='a')"
_EXACT, _DEFAULT, _ANY = range(3)


@dataclass(frozen=True, order=True)
class QuotaEntity:
    """Whom a quota limits.

    Attributes:
        user: a user; ``""`` for all users without a quota of their own; None if it does not matter.
        client_id: a ``client.id``, in the same way.
        ip: an address, in the same way; only alone.
    """

    user: str | None = None
    client_id: str | None = None
    ip: str | None = None

    def __str__(self) -> str:
        """Return one line for people."""
        return ", ".join(f"{name} {value or '(default)'}" for name, value in self._named().items())

    def _named(self) -> dict[str, str]:
        values = zip(_ENTITY_TYPES, (self.user, self.client_id, self.ip), strict=True)
        return {name: value for name, value in values if value is not None}

    def to_body(self) -> list[Body]:
        """Return its form in requests.

        Raises:
            ConfigError: it names nothing, or an address and something else.
        """
        named = self._named()
        if not named or ("ip" in named and len(named) > 1):
            raise ConfigError("a quota is for a user, a client id, both, or an address alone")
        return [
            {"entity_type": name, "entity_name": value or None} for name, value in named.items()
        ]


def checked(
    alterations: Mapping[QuotaEntity, Mapping[str, float | None]],
) -> dict[QuotaEntity, dict[str, float | None]]:
    """Return alterations whose limits are numbers.

    Raises:
        ArgumentTypeError: they are no mapping of mappings, or a limit is no number.
    """
    example = '{"producer_byte_rate": 1e6}'
    given = arguments.mapping("alterations", alterations, f"{{{_ENTITY}: {example}}}")
    found: dict[QuotaEntity, dict[str, float | None]] = {}
    for entity, values in given.items():
        instance(f"alterations: {entity!r}", entity, QuotaEntity, _ENTITY)
        name = f"alterations[{entity}]"
        found[entity] = {
            key: None if value is None else arguments.number(f"{name}[{key!r}]", value)
            for key, value in arguments.mapping(name, values, example).items()
        }
    return found


def plain_number(value: float) -> str:
    """Return a limit without a fraction of zero: ``1000000``, ``0.5``."""
    return str(int(value)) if value.is_integer() else str(value)


def _entity_of(body: list[Body]) -> QuotaEntity:
    named = {each["entity_type"]: each["entity_name"] or "" for each in body}
    return QuotaEntity(named.get("user"), named.get("client-id"), named.get("ip"))


async def describe_quotas(
    call: Call, matching: QuotaEntity | None
) -> dict[QuotaEntity, dict[str, float]]:
    """Return the quotas of an entity and of those that name it with another type, or all."""
    components = []
    if matching is not None:
        instance("matching", matching, QuotaEntity, _ENTITY)
        for each in matching.to_body():
            name = each["entity_name"]
            component = {"entity_type": each["entity_type"], "match": name}
            components.append(component | {"match_type": _DEFAULT if name is None else _EXACT})

    def build(_: list[None]) -> Request:
        return Request("DescribeClientQuotas", {"components": components, "strict": False})

    def read(
        response: Response, _: list[None]
    ) -> Results[None, dict[QuotaEntity, dict[str, float]]]:
        entries = response.body["entries"] or []
        return {
            None: error_of(response.body, api="DescribeClientQuotas")
            or {
                _entity_of(each["entity"]): {
                    value["key"]: value["value"] for value in each["values"]
                }
                for each in entries
            }
        }

    result = (await to_controller(call, [None], build, read, changes=False))[None]
    if isinstance(result, KafkaError):
        raise result
    return result


async def alter_quotas(
    call: Call,
    alterations: Mapping[QuotaEntity, Mapping[str, float | None]],
    *,
    validate_only: bool = False,
) -> Results[QuotaEntity, None]:
    """Set quotas; None removes one."""
    entries = {
        entity: {
            "entity": entity.to_body(),
            "ops": [
                {"key": key, "value": float(value or 0), "remove": value is None}
                for key, value in values.items()
            ],
        }
        for entity, values in alterations.items()
    }

    def build(pending: list[QuotaEntity]) -> Request:
        body = {"entries": [entries[each] for each in pending], "validate_only": validate_only}
        return Request("AlterClientQuotas", body)

    def read(response: Response, _: list[QuotaEntity]) -> Results[QuotaEntity, None]:
        results: Results[QuotaEntity, None] = {}
        for each in response.body["entries"]:
            entity = _entity_of(each["entity"])
            results[entity] = error_of(each, f"quota of {entity}", api="AlterClientQuotas")
        return results

    return await to_controller(call, entries, build, read, changes=not validate_only)


async def plan_quotas(
    call: Call, alterations: Mapping[QuotaEntity, Mapping[str, float | None]]
) -> Plan:
    """Let the controller check quotas, and return the values before and after."""
    settle(await alter_quotas(call, alterations, validate_only=True), "raise")
    before = await describe_quotas(call, None)
    changes = []
    for entity, values in alterations.items():
        for key, value in values.items():
            old = before.get(entity, {}).get(key)
            if old == value:
                continue
            shown = None if old is None else plain_number(old)
            after = "(none)" if value is None else plain_number(float(value))
            changes.append(PlannedChange("alter", f"quota of {entity}", key, shown, after))
    return Plan(changes)
