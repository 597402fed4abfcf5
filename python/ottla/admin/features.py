"""Features: the levels that brokers support and that the cluster uses (KIP-584).

Invariant: the finalized levels are those of the highest metadata epoch that any broker knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ottla._core import __version__, error_of_code
from ottla.admin.destinations import CONTROLLER_TIMEOUT_MS, from_each_broker, to_controller
from ottla.admin.items import ItemErrors, Results, error_of, known, settle
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.plan import Plan, PlannedChange
from ottla.error_code import ErrorCode
from ottla.errors import ConfigError, KafkaError

Downgrade: TypeAlias = Literal["no", "safe", "unsafe"]

_UPGRADE_TYPES = {"no": 1, "safe": 2, "unsafe": 3}


@dataclass(frozen=True)
class SupportedVersionRange:
    """The levels of a feature that a broker supports.

    Attributes:
        min_version: the lowest one.
        max_version: the highest one.
    """

    min_version: int
    max_version: int


@dataclass(frozen=True)
class FeaturesDescription:
    """The features of a cluster.

    Attributes:
        finalized_features: the level that the cluster uses, by feature, such as
            ``transaction.version``. A feature that it lacks is off.
        finalized_features_epoch: the epoch of these levels, which grows with each change of the
            metadata; None if the brokers have none.
        supported_features: the levels that each broker supports, by broker and feature.
        errors: the errors of the brokers that did not respond; empty unless ``errors="return"``.
    """

    finalized_features: dict[str, int]
    finalized_features_epoch: int | None
    supported_features: dict[int, dict[str, SupportedVersionRange]]
    errors: list[KafkaError] = field(default_factory=list)


async def describe_features(call: Call, *, errors: ItemErrors = "raise") -> FeaturesDescription:
    """Ask all brokers for their features."""
    body = {"client_software_name": "ottla", "client_software_version": __version__}
    results = await from_each_broker(call, "ApiVersions", body)
    responses = {
        broker: each for broker, each in results.items() if not isinstance(each, KafkaError)
    }
    if errors == "raise" or not responses:
        settle(results, "raise")
    newest = max(responses.values(), key=lambda each: int(each["finalized_features_epoch"]))
    epoch = newest["finalized_features_epoch"]
    return FeaturesDescription(
        {
            each["name"]: each["max_version_level"]
            for each in sorted(newest["finalized_features"], key=lambda each: str(each["name"]))
        },
        known(epoch),
        {broker: _supported(response) for broker, response in responses.items()},
        [each for each in results.values() if isinstance(each, KafkaError)],
    )


def _supported(response: Body) -> dict[str, SupportedVersionRange]:
    return {
        each["name"]: SupportedVersionRange(each["min_version"], each["max_version"])
        for each in sorted(response["supported_features"], key=lambda each: str(each["name"]))
    }


async def update_features(
    call: Call, levels: Mapping[str, int], *, downgrade: Downgrade, validate_only: bool = False
) -> Results[str, None]:
    """Set the levels of features."""
    given: object = downgrade
    if not isinstance(given, str) or given not in _UPGRADE_TYPES:
        expected = ", ".join(_UPGRADE_TYPES)
        raise ConfigError(f"downgrade is {downgrade!r}: expected one of {expected}")

    def build(pending: list[str]) -> Request:
        keys = [{"feature": name, "max_version_level": levels[name]} for name in pending]
        typed = [key | {"upgrade_type": _UPGRADE_TYPES[downgrade]} for key in keys]
        body = {"timeout_ms": CONTROLLER_TIMEOUT_MS, "feature_updates": typed}
        if validate_only:
            return Request("UpdateFeatures", body | {"validate_only": True})
        # Before Kafka 3.3, a downgrade is allowed or not.
        older = [key | {"allow_downgrade": downgrade != "no"} for key in keys]
        return Request("UpdateFeatures", body, older=(body | {"feature_updates": older},))

    def read(response: Response, pending: list[str]) -> Results[str, None]:
        error = error_of(response.body, maybe_done=response.is_repeated, api="UpdateFeatures")
        results: Results[str, None] = dict.fromkeys(pending, error)
        # Before Kafka 4.0, some may succeed and others fail.
        if error is None:
            for each in response.body.get("results", ()):
                results[each["feature"]] = error_of(
                    each, maybe_done=response.is_repeated, api="UpdateFeatures"
                )
        return results

    return await to_controller(call, levels, build, read, changes=not validate_only)


async def plan_features(call: Call, levels: Mapping[str, int], *, downgrade: Downgrade) -> Plan:
    """Let the controller check levels, and return those before and after."""
    described = await describe_features(call)
    results = await update_features(call, levels, downgrade=downgrade, validate_only=True)
    for name, result in results.items():
        if isinstance(result, KafkaError) and result.code == ErrorCode.UNSUPPORTED_VERSION:
            # Before Kafka 3.3, the controller does not check without a change.
            results[name] = _unsupported(described, name, levels[name])
    settle(results, "raise")
    changes = []
    for name, level in levels.items():
        before = described.finalized_features.get(name, 0)
        if level != before:
            action = "upgrade" if level > before else "downgrade"
            changes.append(PlannedChange(action, f"feature {name}", "", str(before), str(level)))
    return Plan(changes)


def _unsupported(described: FeaturesDescription, name: str, level: int) -> KafkaError | None:
    for broker, supported in described.supported_features.items():
        each = supported.get(name, SupportedVersionRange(0, 0))
        if level and not each.min_version <= level <= each.max_version:
            message = f"broker {broker} does not support level {level} of {name}"
            return error_of_code(ErrorCode.INVALID_UPDATE_VERSION, message)
    return None
