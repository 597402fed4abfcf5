"""The base classes of rules: executors, actions and their errors."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._rule_context import FieldTransform, RuleContext
from ottla.compat.confluent_kafka.schema_registry._rule_documents import Rule, RuleKind, RuleMode
from ottla.compat.confluent_kafka.serialization import SerializationError

DLQ_HEADER_PREFIX = "__rule."
DLQ_RULE_NAME_HEADER = DLQ_HEADER_PREFIX + "name"
DLQ_RULE_MODE_HEADER = DLQ_HEADER_PREFIX + "mode"
DLQ_RULE_SUBJECT_HEADER = DLQ_HEADER_PREFIX + "subject"
DLQ_RULE_TOPIC_HEADER = DLQ_HEADER_PREFIX + "topic"
DLQ_RULE_EXCEPTION_HEADER = DLQ_HEADER_PREFIX + "exception"


class RuleError(Exception):
    """A rule could not be applied."""


class RuleConditionError(RuleError):
    """A value does not meet a rule's condition.

    Args:
        rule: the rule, whose ``doc`` is the message if it has one.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__(self.error_message(rule))

    @staticmethod
    def error_message(rule: Rule) -> str:
        """Return the message of a rule that is not met."""
        if rule.doc:
            return rule.doc
        return f"Rule expr failed: {rule.expr}" if rule.expr else f"Rule failed: {rule.name}"


class RuleBase(metaclass=ABCMeta):
    """What executors and actions have in common."""

    def configure(self, client_conf: dict[str, Any], rule_conf: dict[str, Any]) -> None:
        """Take the configurations of the registry client and of the rules."""

    @abstractmethod
    def type(self) -> str:
        """Return the type of the rules or the name of the action."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what it holds."""


class RuleExecutor(RuleBase):
    """Applies rules of one type."""

    @abstractmethod
    def transform(self, ctx: RuleContext, message: Any) -> Any:
        """Return the new value, or whether the condition is met."""
        raise NotImplementedError


class FieldRuleExecutor(RuleExecutor):
    """Applies rules of one type to each field."""

    @abstractmethod
    def new_transform(self, ctx: RuleContext) -> FieldTransform:
        """Return the function that is called for each field."""
        raise NotImplementedError

    def transform(self, ctx: RuleContext, message: Any) -> Any:
        """Return the value with its fields transformed."""
        # Of transforms with the same tags, the one that comes first when values are written counts.
        writes = ctx.rule_mode in (RuleMode.WRITE, RuleMode.UPGRADE)
        reads = ctx.rule_mode in (RuleMode.READ, RuleMode.DOWNGRADE)
        others = ctx.rules[: ctx.index] if writes else ctx.rules[ctx.index + 1 :] if reads else []
        if any(self.are_transforms_with_same_tag(ctx.rule, other) for other in others):
            return message
        return ctx.field_transformer(ctx, self.new_transform(ctx), message)

    @staticmethod
    def are_transforms_with_same_tag(rule1: Rule, rule2: Rule) -> bool:
        """Return whether two rules would transform the same fields twice."""
        if not rule1.tags or rule1.kind != RuleKind.TRANSFORM:
            return False
        keys = ("kind", "mode", "type", "tags")
        return all(getattr(rule1, key) == getattr(rule2, key) for key in keys)


class RuleAction(RuleBase):
    """Runs after a rule, when it succeeded or failed."""

    @abstractmethod
    def run(self, ctx: RuleContext, message: Any, ex: Exception | None) -> None:
        """Act on a value, and on the error if the rule failed."""
        raise NotImplementedError


class ErrorAction(RuleAction):
    """Raises a SerializationError."""

    def type(self) -> str:
        """Return ``ERROR``."""
        return "ERROR"

    def run(self, ctx: RuleContext, message: Any, ex: Exception | None) -> None:
        """Raise the error."""
        if ex is None:
            raise SerializationError
        raise SerializationError(str(ex)) from ex


class NoneAction(RuleAction):
    """Does nothing."""

    def type(self) -> str:
        """Return ``NONE``."""
        return "NONE"

    def run(self, ctx: RuleContext, message: Any, ex: Exception | None) -> None:
        """Do nothing."""
