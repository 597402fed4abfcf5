"""Rules in a schema's text, ``confluent:rules``: conditions on the values that are written."""

from __future__ import annotations

import importlib
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._rule_classes import RuleError
from ottla.compat.confluent_kafka.serialization import SerializationError

VALIDATION_RULES_PROP = "confluent:rules"
_CEL = "ottla.compat.confluent_kafka.schema_registry.rules.cel.cel_validator"


class ValidationRulesExecution(str, Enum):
    """When the rules are checked."""

    DISABLED = "DISABLED"
    BEFORE_DOMAIN_RULES = "BEFORE_DOMAIN_RULES"
    AFTER_DOMAIN_RULES = "AFTER_DOMAIN_RULES"


@dataclass(frozen=True)
class ValidationRule:
    """A condition of a record or a field."""

    name: str | None = None
    doc: str | None = None
    expr: str | None = None
    sql: str | None = None


class ValidationRuleError:
    """A condition that a value does not meet, and where.

    Args:
        rule: the condition.
        field_path: the field, such as ``customer.zip``, or an empty text.
        message: what the rule itself returned.
        cause: the error of the executor.
    """

    __slots__ = ["cause", "field_path", "message", "rule"]

    def __init__(
        self,
        rule: ValidationRule,
        field_path: str | None = None,
        message: str | None = None,
        cause: Exception | None = None,
    ) -> None:
        self.rule = rule
        self.field_path = field_path
        self.message = message
        self.cause = cause

    def _values(self) -> tuple[Any, ...]:
        return (self.rule, self.field_path, self.message)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValidationRuleError):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __str__(self) -> str:
        rule = self.rule
        detail = self.message or rule.doc or rule.sql or rule.expr
        cause = f" (caused by: {self.cause})" if self.cause is not None else ""
        return f"{self.field_path or '<root>'}: {rule.name or 'unnamed'}: {detail}{cause}"

    def __repr__(self) -> str:
        return f"ValidationRuleError({self})"


class ValidationRuleExecutor(metaclass=ABCMeta):
    """Checks conditions."""

    @abstractmethod
    def execute(self, rule: ValidationRule, schema: Any, message: Any) -> Any:
        """Return whether a value meets a condition, or a text that says why it does not."""
        raise NotImplementedError


def parse_validation_rules(prop_value: Any) -> list[ValidationRule]:
    """Return the rules of a property; what is no rule is ignored."""
    if not isinstance(prop_value, list):
        return []
    keys = ("name", "doc", "expr", "sql")
    return [
        ValidationRule(*(entry.get(key) for key in keys))
        for entry in prop_value
        if isinstance(entry, dict)
    ]


def default_validation_rule_executor() -> ValidationRuleExecutor:
    """Return an executor of CEL, if the installed confluent-kafka has one."""
    try:
        module = importlib.import_module(_CEL)
    except ImportError as error:
        raise ValueError(
            "there is no executor of validation rules: install confluent-kafka[rules] beside"
            " ottla, or set validation.rules.executor"
        ) from error
    executor: ValidationRuleExecutor = module.CelValidator()
    return executor


def violations_of(
    executor: ValidationRuleExecutor,
    rules: list[ValidationRule],
    schema: Any,
    value: Any,
    path: str,
) -> Iterator[ValidationRuleError]:
    """Yield the rules that a value does not meet."""
    for rule in rules:
        try:
            result = executor.execute(rule, schema, value)
        except RuleError as error:
            yield ValidationRuleError(rule, path, None, error)
            continue
        if result is False:
            yield ValidationRuleError(rule, path)
        elif isinstance(result, str):
            if result:
                yield ValidationRuleError(rule, path, result)
        elif result is not True:
            name, kind = rule.name or "unnamed", type(result).__name__
            raise SerializationError(
                f"Validation rule '{name}' resolved to an unexpected type: {kind}"
            )


def evaluate_validation_rule(
    executor: ValidationRuleExecutor,
    rule: ValidationRule,
    schema: Any,
    value: Any,
    path: str,
    out: list[ValidationRuleError],
) -> None:
    """Append a rule to ``out`` if a value does not meet it."""
    out.extend(violations_of(executor, [rule], schema, value, path))


def collected(
    violations: Iterator[ValidationRuleError], fail_fast: bool
) -> list[ValidationRuleError]:
    """Return all violations, or the first one."""
    if fail_fast:
        return [violation for violation, _ in zip(violations, range(1), strict=False)]
    return list(violations)
