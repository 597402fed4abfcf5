"""The executors and actions of rules, by type: those of the process, or of one serializer."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from ottla.compat.confluent_kafka.schema_registry._rule_classes import RuleAction, RuleExecutor

__all__ = ["RuleOverride", "RuleRegistry"]


@dataclass(frozen=True)
class RuleOverride:
    """What applies to all rules of a type, whatever the schemas say."""

    type: str
    on_success: str | None
    on_failure: str | None
    disabled: bool | None


class RuleRegistry:
    """Executors, actions and overrides by type. Any thread may use it."""

    __slots__ = ["_lock", "_rule_actions", "_rule_executors", "_rule_overrides"]

    def __init__(self) -> None:
        self._lock = Lock()
        self._rule_executors: dict[str, RuleExecutor] = {}
        self._rule_actions: dict[str, RuleAction] = {}
        self._rule_overrides: dict[str, RuleOverride] = {}

    def register_executor(self, rule_executor: RuleExecutor) -> None:
        """Use an executor for the rules of its type."""
        with self._lock:
            self._rule_executors[rule_executor.type()] = rule_executor

    def get_executor(self, name: str) -> RuleExecutor | None:
        """Return the executor of a type."""
        with self._lock:
            return self._rule_executors.get(name)

    def get_executors(self) -> list[RuleExecutor]:
        """Return all executors."""
        with self._lock:
            return list(self._rule_executors.values())

    def register_action(self, rule_action: RuleAction) -> None:
        """Use an action by its name."""
        with self._lock:
            self._rule_actions[rule_action.type()] = rule_action

    def get_action(self, name: str) -> RuleAction | None:
        """Return the action of a name."""
        with self._lock:
            return self._rule_actions.get(name)

    def get_actions(self) -> list[RuleAction]:
        """Return all actions."""
        with self._lock:
            return list(self._rule_actions.values())

    def register_override(self, rule_override: RuleOverride) -> None:
        """Override the rules of a type."""
        with self._lock:
            self._rule_overrides[rule_override.type] = rule_override

    def get_override(self, name: str) -> RuleOverride | None:
        """Return the override of a type."""
        with self._lock:
            return self._rule_overrides.get(name)

    def get_overrides(self) -> list[RuleOverride]:
        """Return all overrides."""
        with self._lock:
            return list(self._rule_overrides.values())

    def clear(self) -> None:
        """Forget all executors, actions and overrides."""
        with self._lock:
            self._rule_executors.clear()
            self._rule_actions.clear()
            self._rule_overrides.clear()

    @staticmethod
    def get_global_instance() -> RuleRegistry:
        """Return the registry of the process, which serializers use by default."""
        return _global_instance

    @staticmethod
    def register_rule_executor(rule_executor: RuleExecutor) -> None:
        """Use an executor in the whole process."""
        _global_instance.register_executor(rule_executor)

    @staticmethod
    def register_rule_action(rule_action: RuleAction) -> None:
        """Use an action in the whole process."""
        _global_instance.register_action(rule_action)

    @staticmethod
    def register_rule_override(rule_override: RuleOverride) -> None:
        """Override the rules of a type in the whole process."""
        _global_instance.register_override(rule_override)


_global_instance = RuleRegistry()
