"""The rules of a schema, run on a value: which ones, in which order, and what follows each.

A rule that cannot be run, or whose condition is not met, ends in its action; by default that is a
``SerializationError``. Nothing of this does I/O, apart from what executors and actions do.
"""

from __future__ import annotations

import logging
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._original_key import get_original_key
from ottla.compat.confluent_kafka.schema_registry._rule_classes import (
    DLQ_RULE_NAME_HEADER,
    ErrorAction,
    NoneAction,
    RuleAction,
    RuleConditionError,
    RuleError,
)
from ottla.compat.confluent_kafka.schema_registry._rule_context import (
    FieldTransformer,
    RuleContext,
)
from ottla.compat.confluent_kafka.schema_registry._rule_documents import (
    Rule,
    RuleKind,
    RuleMode,
    RulePhase,
    RuleSet,
)
from ottla.compat.confluent_kafka.schema_registry._schema_documents import Schema
from ottla.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from ottla.compat.confluent_kafka.serialization import (
    MessageField,
    SerializationContext,
    SerializationError,
)

log = logging.getLogger(__name__)

# The modes in which a rule runs: its own, and those that it stands for.
_MODES = {
    RuleMode.WRITEREAD: (RuleMode.WRITE, RuleMode.READ),
    RuleMode.UPDOWN: (RuleMode.UPGRADE, RuleMode.DOWNGRADE),
}


def runs_in(rule: Rule, mode: RuleMode) -> bool:
    """Return whether a rule runs in a mode."""
    return rule.mode == mode or mode in _MODES.get(rule.mode or RuleMode.READ, ())


def has_rules(rule_set: RuleSet | None, phase: RulePhase, mode: RuleMode) -> bool:
    """Return whether a rule of a phase runs in a mode."""
    return any(runs_in(rule, mode) for rule in _rules_of(rule_set, phase))


def _rules_of(rule_set: RuleSet | None, phase: RulePhase) -> list[Rule]:
    if rule_set is None:
        return []
    rules = {
        RulePhase.MIGRATION: rule_set.migration_rules,
        RulePhase.DOMAIN: rule_set.domain_rules,
        RulePhase.ENCODING: rule_set.encoding_rules,
    }
    return rules[phase] or []


class RuleEngine:
    """Runs the rules of schemas with the executors of a rule registry."""

    _rule_registry: RuleRegistry

    def _execute_rules(
        self,
        ser_ctx: SerializationContext,
        subject: str,
        rule_mode: RuleMode,
        source: Schema | None,
        target: Schema | None,
        message: Any,
        inline_tags: dict[str, set[str]] | None,
        field_transformer: FieldTransformer | None,
        original_message: Any = None,
        phase: RulePhase = RulePhase.DOMAIN,
    ) -> Any:
        """Return a value after the rules of a phase."""
        if message is None or target is None:
            return message
        # A schema is left by its own rules, backwards; otherwise the target's rules apply.
        owner = source if rule_mode == RuleMode.DOWNGRADE else target
        rule_set = None if owner is None else owner.rule_set
        if rule_mode in (RuleMode.UPGRADE, RuleMode.DOWNGRADE):
            phase = RulePhase.MIGRATION
        rules = list(_rules_of(rule_set, phase))
        if not rules or rule_set is None:
            return message
        if rule_mode in (RuleMode.READ, RuleMode.DOWNGRADE):
            # What was done last when the value was written is undone first.
            rules.reverse()
        original = message if original_message is None else original_message
        is_key = ser_ctx.field == MessageField.KEY
        key, value = (original, None) if is_key else (get_original_key(), original)
        for index, rule in enumerate(rules):
            ctx = RuleContext(
                rule_set.enable_at,
                ser_ctx,
                source,
                target,
                subject,
                rule_mode,
                rule,
                index,
                rules,
                inline_tags,
                field_transformer,
                key,
                value,
            )
            if self._is_disabled(ctx, rule) or _is_replay(ctx, rule):
                continue
            if not runs_in(rule, rule_mode):
                continue
            executor = None
            if rule.type is not None:
                executor = self._rule_registry.get_executor(rule.type.upper())
            if executor is None:
                error = RuleError(f"Could not find rule executor of type {rule.type}")
                self._run_action(ctx, self._action(rule, "on_failure"), message, error, "ERROR")
                return message
            message = self._apply(ctx, executor, message)
        return message

    def _apply(self, ctx: RuleContext, executor: Any, message: Any) -> Any:
        rule = ctx.rule
        try:
            result = executor.transform(ctx, message)
            if rule.kind == RuleKind.CONDITION:
                if not result:
                    raise RuleConditionError(rule)  # noqa: TRY301 - its action comes next
            elif rule.kind == RuleKind.TRANSFORM:
                message = result
            failed = message is None
            action = self._action(rule, "on_failure" if failed else "on_success")
            self._run_action(ctx, action, message, None, "ERROR" if failed else "NONE")
        except SerializationError:
            raise
        except Exception as error:  # noqa: BLE001 - its action comes next
            self._run_action(ctx, self._action(rule, "on_failure"), message, error, "ERROR")
        return message

    def _override(self, rule: Rule, name: str) -> Any:
        override = None if rule.type is None else self._rule_registry.get_override(rule.type)
        return None if override is None else getattr(override, name)

    def _action(self, rule: Rule, name: str) -> str | None:
        override = self._override(rule, name)
        action: str | None = getattr(rule, name) if override is None else override
        return action

    def _is_disabled(self, ctx: RuleContext, rule: Rule) -> bool | None:
        disabled: bool | None = self._override(rule, "disabled")
        if disabled is not None:
            return disabled
        if rule.type is not None and (ctx.enabled_env or "ALL") not in ("ALL", "CLIENT"):
            return True
        return rule.disabled

    def _run_action(
        self,
        ctx: RuleContext,
        action: str | None,
        message: Any,
        error: Exception | None,
        default: str,
    ) -> None:
        name = _action_name(ctx.rule, ctx.rule_mode, action) or default
        found = self._rule_action(name)
        if found is None:
            log.error("there is no action %s", name)
            raise RuleError(f"Could not find rule action of type {name}")
        try:
            found.run(ctx, message, error)
        except SerializationError:
            raise
        except Exception as failure:  # noqa: BLE001 - the application's own code
            log.warning("the action %s after a rule failed: %s", name, failure)

    def _rule_action(self, name: str) -> RuleAction | None:
        if name == "ERROR":
            return ErrorAction()
        if name == "NONE":
            return NoneAction()
        return self._rule_registry.get_action(name)


def _action_name(rule: Rule, mode: RuleMode, action: str | None) -> str | None:
    # A rule of two directions may have an action for each.
    if action and "," in action and rule.mode in _MODES:
        first, second = action.split(",")[:2]
        return first if mode in (RuleMode.WRITE, RuleMode.UPGRADE) else second
    return action


def _is_replay(ctx: RuleContext, rule: Rule) -> bool:
    """Return whether the record is a dead letter of this rule, which would fail again."""
    headers = ctx.ser_ctx.headers
    if not headers or rule.name is None:
        return False
    pairs = headers.items() if isinstance(headers, dict) else headers
    found = [value for key, value in pairs if key == DLQ_RULE_NAME_HEADER]
    if not found:
        return False
    name = found[-1]
    if isinstance(name, (bytes, bytearray)):
        name = name.decode("utf-8", errors="replace")
    return bool(name == rule.name)
