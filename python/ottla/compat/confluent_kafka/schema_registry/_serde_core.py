"""What serializers and deserializers of all formats share: configuration, subject, reader's
schema.

The calls of the registry are steps (``_steps``), so that the blocking and the asyncio classes are
the same logic. A serializer registers or looks up its schema once for each subject, however many
threads or tasks use it at first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._associated import AssociatedSteps
from ottla.compat.confluent_kafka.schema_registry._original_key import (
    clear_original_key,
    set_original_key,
)
from ottla.compat.confluent_kafka.schema_registry._rule_engine import RuleEngine
from ottla.compat.confluent_kafka.schema_registry._schema_documents import RegisteredSchema
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.schema_registry._strategies import (
    STRATEGY_TYPE_MAP,
    SubjectNameStrategyType,
    strategy_type,
)
from ottla.compat.confluent_kafka.schema_registry._validation import (
    ValidationRuleError,
    ValidationRuleExecutor,
    ValidationRulesExecution,
    default_validation_rule_executor,
)
from ottla.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from ottla.compat.confluent_kafka.serialization import (
    MessageField,
    SerializationContext,
    SerializationError,
)

log = logging.getLogger(__name__)


class SerdeCore(RuleEngine):
    """The configuration and the subject of a serializer or deserializer."""

    _registry: Any
    _owns_registry = False
    _associated: type[AssociatedSteps]
    _use_schema_id: int | None = None
    _use_latest_version: bool
    _use_latest_with_metadata: dict[str, str] | None
    _subject_name_func: Any
    _subject_name_conf: dict[str, Any] | None
    _strategy_accepts_client: bool
    _validation_rules_execution = ValidationRulesExecution.DISABLED
    _validation_rules_fail_fast = False
    _validation_rule_executor: ValidationRuleExecutor | None = None

    def _configure_common(self, conf: dict[str, Any]) -> None:
        self._use_latest_version = take_flag(conf, "use.latest.version")
        metadata = conf.pop("use.latest.with.metadata")
        if metadata is not None and not isinstance(metadata, dict):
            raise ValueError("use.latest.with.metadata must be a dict value")
        self._use_latest_with_metadata = metadata
        self.configure_subject_name_strategy(
            conf.pop("subject.name.strategy.type"),
            conf.pop("subject.name.strategy.conf"),
            conf.pop("subject.name.strategy"),
        )

    def _configure_rules(
        self, rule_conf: dict[str, Any] | None, rule_registry: RuleRegistry | None
    ) -> None:
        self._rule_registry = rule_registry or RuleRegistry.get_global_instance()
        client_conf = self._registry.config() if self._registry is not None else {}
        for member in [*self._rule_registry.get_executors(), *self._rule_registry.get_actions()]:
            member.configure(client_conf, rule_conf or {})

    def configure_subject_name_strategy(
        self,
        subject_name_strategy_type: SubjectNameStrategyType | str | None = None,
        subject_name_strategy_conf: dict[str, Any] | None = None,
        subject_name_strategy: Callable[..., Any] | None = None,
    ) -> None:
        """Set how subjects are named: by a function, or else by the name of a strategy.

        Args:
            subject_name_strategy_type: TOPIC, RECORD, TOPIC_RECORD, or ASSOCIATED, the default.
            subject_name_strategy_conf: the configuration of ASSOCIATED.
            subject_name_strategy: a function of a context and a record's name.

        Raises:
            ValueError: there is no such strategy.
        """
        self._subject_name_conf = subject_name_strategy_conf
        if subject_name_strategy is not None:
            if not callable(subject_name_strategy):
                raise ValueError("subject.name.strategy must be callable")
            self._subject_name_func = subject_name_strategy
        else:
            kind = SubjectNameStrategyType.ASSOCIATED
            if subject_name_strategy_type is not None:
                kind = strategy_type(subject_name_strategy_type, "subject.name.strategy.type")
            if kind == SubjectNameStrategyType.NONE:
                raise ValueError("Invalid subject.name.strategy.type: NONE is for fallbacks alone")
            strategy: Any = STRATEGY_TYPE_MAP.get(kind)
            self._subject_name_func = self._associated() if strategy is None else strategy
        self._strategy_accepts_client = isinstance(self._subject_name_func, AssociatedSteps)

    def _resolve_cluster_id(self, resolver: Callable[[], Any]) -> None:
        if isinstance(self._subject_name_func, AssociatedSteps):
            self._subject_name_func._cluster_id_resolver = resolver

    def own_schema_registry_client(self) -> None:
        """Close the registry client with this object."""
        self._owns_registry = True

    def _subject(self, ctx: SerializationContext | None, record_name: str | None) -> Steps[Any]:
        strategy = self._subject_name_func
        if isinstance(strategy, AssociatedSteps):
            return (
                yield from strategy._subject(
                    ctx, record_name, self._registry, self._subject_name_conf
                )
            )
        return (yield strategy(ctx, record_name))

    def _get_reader_schema(
        self, subject: str, fmt: str | None = None
    ) -> Steps[RegisteredSchema | None]:
        registry = self._registry
        found: RegisteredSchema | None = None
        if self._use_schema_id is not None:
            schema = yield registry.get_schema(self._use_schema_id, subject, fmt)
            cache = registry._cache
            found = cache.get_registered_by_subject_id(subject, self._use_schema_id)
            if found is None:
                found = yield registry.lookup_schema(
                    subject, schema, normalize_schemas=False, deleted=True
                )
        elif self._use_latest_with_metadata is not None:
            found = yield registry.get_latest_with_metadata(
                subject, self._use_latest_with_metadata, deleted=True, fmt=fmt
            )
        elif self._use_latest_version:
            found = yield registry.get_latest_version(subject, fmt)
        return found

    def _is_fixed(self) -> bool:
        """Return whether the same schemas apply to all records of a topic.

        Then what was found out for a record need not be found out again for the next one.
        """
        strategy = self._subject_name_func
        known = isinstance(strategy, AssociatedSteps) or strategy in STRATEGY_TYPE_MAP.values()
        return known and not self._has_reader_schema() and not self._validation_enabled()

    def _has_reader_schema(self) -> bool:
        return (
            self._use_latest_version
            or self._use_latest_with_metadata is not None
            or self._use_schema_id is not None
        )

    def configure_validation_rules(self, conf: dict[str, Any]) -> None:
        """Remove the configuration of validation rules, and set them."""
        execution = conf.pop("validation.rules.execution")
        try:
            self._validation_rules_execution = ValidationRulesExecution(execution)
        except ValueError:
            valid = ", ".join(item.value for item in ValidationRulesExecution)
            raise ValueError(f"validation.rules.execution must be one of {valid}") from None
        self._validation_rules_fail_fast = take_flag(conf, "validation.rules.fail.fast")
        executor = conf.pop("validation.rules.executor")
        if self._validation_rules_execution != ValidationRulesExecution.DISABLED:
            executor = default_validation_rule_executor() if executor is None else executor
            if not isinstance(executor, ValidationRuleExecutor):
                raise ValueError(
                    "validation.rules.executor must be a ValidationRuleExecutor instance"
                )
        self._validation_rule_executor = executor

    def _validation_enabled(self, phase: ValidationRulesExecution | None = None) -> bool:
        if phase is None:
            return self._validation_rules_execution != ValidationRulesExecution.DISABLED
        return self._validation_rules_execution == phase

    def _raise_validation_violations(self, violations: list[ValidationRuleError]) -> None:
        if violations:
            count = f"{len(violations)} violation{'s' if len(violations) > 1 else ''}"
            lines = [f"  - {violation}" for violation in violations]
            raise SerializationError("\n".join([f"Validation rule failed ({count}):", *lines]))

    def _close(self) -> Steps[None]:
        """Close the members of an own rule registry, and an own registry client."""
        rules = self._rule_registry
        if rules is not RuleRegistry.get_global_instance():
            # Actions first: they may hold records that executors have refused.
            for member in [*rules.get_actions(), *rules.get_executors()]:
                try:
                    member.close()
                except Exception:
                    log.warning("%s could not be closed", type(member).__name__, exc_info=True)
        if self._owns_registry and self._registry is not None:
            self._owns_registry = False
            close = getattr(self._registry, "aclose", None) or self._registry.close
            yield close()


def keep_key(ctx: SerializationContext | None, key: Any) -> None:
    """Keep a key for the rules of its record's value, or forget it after the value."""
    if ctx is not None and ctx.field == MessageField.KEY:
        set_original_key(key)
    else:
        clear_original_key()


def take_flag(conf: dict[str, Any], key: str) -> bool:
    """Remove a boolean from a configuration, and return it."""
    value = conf.pop(key)
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be a boolean value")
    return value


def take_callable(conf: dict[str, Any], key: str) -> Callable[..., Any]:
    """Remove a function from a configuration, and return it."""
    value: Callable[..., Any] = conf.pop(key)
    if not callable(value):
        raise ValueError(f"{key} must be callable")
    return value


def check_callable(value: Any, name: str, signature: str) -> Any:
    """Return a function of the application, or None."""
    if value is not None and not callable(value):
        raise ValueError(f"{name} must be callable with the signature {signature}")
    return value


def refuse_rest(conf: dict[str, Any]) -> None:
    """Raise a ValueError if keys are left that nothing has read."""
    if conf:
        raise ValueError(f"Unrecognized properties: {', '.join(conf)}")
