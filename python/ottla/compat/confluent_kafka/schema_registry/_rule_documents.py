"""Rules and metadata of schemas, as documents of the registry: values, equal and hashable."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry._documents import (
    Document,
    hashable,
    parsed,
    parsed_list,
)


class _Name(str, Enum):
    def __str__(self) -> str:
        return str(self.value)


class RuleKind(_Name):
    """What a rule does with a value."""

    CONDITION = "CONDITION"
    TRANSFORM = "TRANSFORM"


class RulePhase(_Name):
    """When a rule runs."""

    MIGRATION = "MIGRATION"
    DOMAIN = "DOMAIN"
    ENCODING = "ENCODING"


class RuleMode(_Name):
    """The direction in which a rule runs."""

    UPGRADE = "UPGRADE"
    DOWNGRADE = "DOWNGRADE"
    UPDOWN = "UPDOWN"
    READ = "READ"
    WRITE = "WRITE"
    WRITEREAD = "WRITEREAD"


@dataclass
class RuleParams(Document):
    """The parameters of a rule, by name."""

    params: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return dict(self.params)

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> RuleParams:
        """Return the parameters of a JSON object."""
        return cls(params=dict(src_dict))

    def __hash__(self) -> int:
        return hash(hashable(self.params))


@dataclass(frozen=True)
class Rule(Document):
    """A rule of a schema."""

    name: str | None
    doc: str | None
    kind: RuleKind | None
    mode: RuleMode | None
    type: str | None
    tags: list[str] | None = field(hash=False)
    params: RuleParams | None
    expr: str | None
    on_success: str | None
    on_failure: str | None
    disabled: bool | None

    KEYS: ClassVar[dict[str, str]] = {
        "name": "name",
        "doc": "doc",
        "kind": "kind",
        "mode": "mode",
        "type": "type",
        "tags": "tags",
        "params": "params",
        "expr": "expr",
        "on_success": "onSuccess",
        "on_failure": "onFailure",
        "disabled": "disabled",
    }

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> Rule:
        """Return the rule of a JSON object."""
        return cls(
            name=src_dict.get("name"),
            doc=src_dict.get("doc"),
            kind=parsed(src_dict, "kind", RuleKind),
            mode=parsed(src_dict, "mode", RuleMode),
            type=src_dict.get("type"),
            tags=src_dict.get("tags"),
            params=parsed(src_dict, "params", RuleParams.from_dict),
            expr=src_dict.get("expr"),
            on_success=src_dict.get("onSuccess"),
            on_failure=src_dict.get("onFailure"),
            disabled=src_dict.get("disabled"),
        )


@dataclass
class RuleSet(Document):
    """The rules of a schema, by phase."""

    migration_rules: list[Rule] | None
    domain_rules: list[Rule] | None
    encoding_rules: list[Rule] | None = None
    enable_at: str | None = None

    KEYS: ClassVar[dict[str, str]] = {
        "migration_rules": "migrationRules",
        "domain_rules": "domainRules",
        "encoding_rules": "encodingRules",
        "enable_at": "enableAt",
    }

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> RuleSet:
        """Return the rules of a JSON object."""
        return cls(
            migration_rules=parsed_list(src_dict, "migrationRules", Rule.from_dict),
            domain_rules=parsed_list(src_dict, "domainRules", Rule.from_dict),
            encoding_rules=parsed_list(src_dict, "encodingRules", Rule.from_dict),
            enable_at=src_dict.get("enableAt"),
        )

    def __hash__(self) -> int:
        rules = [self.migration_rules, self.domain_rules, self.encoding_rules]
        return hash((frozenset(rule for some in rules for rule in some or []), self.enable_at))


@dataclass
class MetadataTags(Document):
    """The tags of fields, by a pattern of their names."""

    tags: dict[str, list[str]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return dict(self.tags)

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> MetadataTags:
        """Return the tags of a JSON object."""
        return cls(tags=dict(src_dict))

    def __hash__(self) -> int:
        return hash(hashable(self.tags or {}))


@dataclass
class MetadataProperties(Document):
    """The properties of a schema, by name."""

    properties: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return dict(self.properties)

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> MetadataProperties:
        """Return the properties of a JSON object."""
        return cls(properties=dict(src_dict))

    def __hash__(self) -> int:
        return hash(hashable(self.properties))


@dataclass(frozen=True)
class Metadata(Document):
    """The metadata of a schema."""

    tags: MetadataTags | None
    properties: MetadataProperties | None
    sensitive: list[str] | None = field(hash=False)

    KEYS: ClassVar[dict[str, str]] = {
        "tags": "tags",
        "properties": "properties",
        "sensitive": "sensitive",
    }

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> Metadata:
        """Return the metadata of a JSON object."""
        return cls(
            tags=parsed(src_dict, "tags", MetadataTags.from_dict),
            properties=parsed(src_dict, "properties", MetadataProperties.from_dict),
            sensitive=list(src_dict.get("sensitive") or []),
        )
