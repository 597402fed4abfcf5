"""Schemas and the configuration of subjects, as documents of the registry. Schemas are values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry._documents import (
    Document,
    parsed,
    parsed_list,
    parsed_object,
)
from ottla.compat.confluent_kafka.schema_registry._rule_documents import (
    Metadata,
    RuleSet,
    _Name,
)


class ConfigCompatibilityLevel(_Name):
    """Which changes of schemas a subject accepts."""

    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"
    NONE = "NONE"


@dataclass(frozen=True)
class SchemaVersion:
    """A version of a subject."""

    subject: str | None
    version: int | None

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> SchemaVersion:
        """Return the version of a JSON object."""
        return cls(subject=src_dict.get("subject"), version=src_dict.get("version"))


@dataclass(frozen=True)
class SchemaReference(Document):
    """A name in a schema's text, and the version of the subject that it stands for."""

    name: str | None
    subject: str | None
    version: int | None

    KEYS: ClassVar[dict[str, str]] = {"name": "name", "subject": "subject", "version": "version"}

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> SchemaReference:
        """Return the reference of a JSON object."""
        return cls(
            name=src_dict.get("name"),
            subject=src_dict.get("subject"),
            version=src_dict.get("version"),
        )


@dataclass
class ServerConfig(Document):
    """The configuration of a subject, or of all."""

    compatibility: ConfigCompatibilityLevel | None = None
    compatibility_level: ConfigCompatibilityLevel | None = None
    compatibility_group: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None

    KEYS: ClassVar[dict[str, str]] = {
        "compatibility": "compatibility",
        "compatibility_level": "compatibilityLevel",
        "compatibility_group": "compatibilityGroup",
        "default_metadata": "defaultMetadata",
        "override_metadata": "overrideMetadata",
        "default_rule_set": "defaultRuleSet",
        "override_rule_set": "overrideRuleSet",
    }

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> ServerConfig:
        """Return the configuration of a JSON object."""
        return cls(
            compatibility=parsed(src_dict, "compatibility", ConfigCompatibilityLevel),
            compatibility_level=parsed(src_dict, "compatibilityLevel", ConfigCompatibilityLevel),
            compatibility_group=src_dict.get("compatibilityGroup"),
            default_metadata=parsed_object(src_dict, "defaultMetadata", Metadata.from_dict),
            override_metadata=parsed_object(src_dict, "overrideMetadata", Metadata.from_dict),
            default_rule_set=parsed_object(src_dict, "defaultRuleSet", RuleSet.from_dict),
            override_rule_set=parsed_object(src_dict, "overrideRuleSet", RuleSet.from_dict),
        )


@dataclass(frozen=True)
class Schema(Document):
    """A schema that is not registered: its text, its type, and what belongs to it."""

    schema_str: str | None
    schema_type: str | None = "AVRO"
    references: list[SchemaReference] | None = field(default_factory=list)
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None

    KEYS: ClassVar[dict[str, str]] = {
        "schema_str": "schema",
        "schema_type": "schemaType",
        "references": "references",
        "metadata": "metadata",
        "rule_set": "ruleSet",
    }

    def __hash__(self) -> int:
        # Caches are keyed by schemas, and a text may have thousands of characters.
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            fields = (self.schema_str, self.schema_type, self.metadata, self.rule_set)
            known = hash(fields)
            object.__setattr__(self, "_hash", known)
        return known

    def __getstate__(self) -> dict[str, Any]:
        # The hash of a text is another one in another process.
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object, with the list of references even if it is empty."""
        document = super().to_dict()
        document.setdefault("references", [])
        return document

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> Schema:
        """Return the schema of a JSON object."""
        return cls(
            schema_str=src_dict.get("schema"),
            schema_type=src_dict.get("schemaType", "AVRO"),
            references=parsed_list(src_dict, "references", SchemaReference.from_dict),
            metadata=parsed_object(src_dict, "metadata", Metadata.from_dict),
            rule_set=parsed_object(src_dict, "ruleSet", RuleSet.from_dict),
        )


@dataclass(frozen=True)
class RegisteredSchema(Document):
    """A schema as it is registered in a subject."""

    subject: str | None
    version: int | None
    schema_id: int | None
    guid: str | None
    schema: Schema

    KEYS: ClassVar[dict[str, str]] = {
        "schema_id": "id",
        "guid": "guid",
        "subject": "subject",
        "version": "version",
    }

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object: that of the schema, with its id, subject and version."""
        return self.schema.to_dict() | super().to_dict()

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> RegisteredSchema:
        """Return the registered schema of a JSON object."""
        return cls(
            subject=src_dict.get("subject"),
            version=src_dict.get("version"),
            schema_id=src_dict.get("id"),
            guid=src_dict.get("guid"),
            schema=Schema.from_dict(src_dict),
        )
