"""Rules, subjects and ids of schemas, which serializers of all formats share."""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._deserializer_core import Migration
from ottla.compat.confluent_kafka.schema_registry._original_key import (
    clear_original_key,
    get_original_key,
    set_original_key,
)
from ottla.compat.confluent_kafka.schema_registry._parsed_schemas import ParsedSchemaCache
from ottla.compat.confluent_kafka.schema_registry._rule_classes import (
    DLQ_HEADER_PREFIX,
    DLQ_RULE_EXCEPTION_HEADER,
    DLQ_RULE_MODE_HEADER,
    DLQ_RULE_NAME_HEADER,
    DLQ_RULE_SUBJECT_HEADER,
    DLQ_RULE_TOPIC_HEADER,
    ErrorAction,
    FieldRuleExecutor,
    NoneAction,
    RuleAction,
    RuleBase,
    RuleConditionError,
    RuleError,
    RuleExecutor,
)
from ottla.compat.confluent_kafka.schema_registry._rule_context import (
    FieldContext,
    FieldTransform,
    FieldTransformer,
    FieldType,
    RuleContext,
)
from ottla.compat.confluent_kafka.schema_registry._schema_id import SchemaId
from ottla.compat.confluent_kafka.schema_registry._strategies import (
    STRATEGY_TYPE_MAP,
    SubjectNameStrategyType,
)
from ottla.compat.confluent_kafka.schema_registry._validation import (
    VALIDATION_RULES_PROP,
    ValidationRule,
    ValidationRuleError,
    ValidationRuleExecutor,
    ValidationRulesExecution,
    default_validation_rule_executor,
    evaluate_validation_rule,
    parse_validation_rules,
)

__all__ = [
    "DLQ_HEADER_PREFIX",
    "DLQ_RULE_EXCEPTION_HEADER",
    "DLQ_RULE_MODE_HEADER",
    "DLQ_RULE_NAME_HEADER",
    "DLQ_RULE_SUBJECT_HEADER",
    "DLQ_RULE_TOPIC_HEADER",
    "STRATEGY_TYPE_MAP",
    "VALIDATION_RULES_PROP",
    "ErrorAction",
    "FieldContext",
    "FieldRuleExecutor",
    "FieldTransform",
    "FieldTransformer",
    "FieldType",
    "Migration",
    "NoneAction",
    "ParsedSchemaCache",
    "RuleAction",
    "RuleBase",
    "RuleConditionError",
    "RuleContext",
    "RuleError",
    "RuleExecutor",
    "SchemaId",
    "SubjectNameStrategyType",
    "ValidationRule",
    "ValidationRuleError",
    "ValidationRuleExecutor",
    "ValidationRulesExecution",
    "clear_original_key",
    "default_validation_rule_executor",
    "evaluate_validation_rule",
    "get_original_key",
    "parse_validation_rules",
    "set_original_key",
]
