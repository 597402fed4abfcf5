"""Differences between configurations, and from Kafka's defaults."""

from __future__ import annotations

from ottla.admin import ConfigEntry, ConfigSynonym
from ottla.cli.configs.difference import (
    differences,
    differences_from_defaults,
    uncompared_secrets,
)

STATIC, DEFAULT = "STATIC_BROKER_CONFIG", "DEFAULT_CONFIG"


def entry(
    name: str,
    value: str | None,
    source: str = STATIC,
    *,
    default: str | None = None,
    secret: bool = False,
) -> ConfigEntry:
    synonyms = [ConfigSynonym(name, value, source)]
    if default is not None:
        synonyms.append(ConfigSynonym(name, default, DEFAULT))
    return ConfigEntry(name, value, source, "STRING", secret, False, synonyms)


def config(*entries: ConfigEntry) -> dict[str, ConfigEntry]:
    return {each.name: each for each in entries}


def test_values_in_effect_are_compared() -> None:
    first = config(entry("a", "1"), entry("b", "2"), entry("c", None, DEFAULT), entry("d", "4"))
    # A default and the same value that somebody has set are no difference.
    second = config(entry("a", "1", DEFAULT), entry("b", "3"), entry("c", ""))
    found = differences([first, second, second])
    assert {each.name: [str(value) for value in each.values] for each in found} == {
        "b": ["2", "3", "3"],
        "c": ["(none)", "", ""],
        "d": ["4", "(no such key)", "(no such key)"],
    }
    assert differences([first, first]) == []


def test_secrets_are_neither_shown_nor_compared() -> None:
    first = config(entry("password", None, secret=True), entry("token", None, secret=True))
    second = config(
        entry("password", None, secret=True), entry("token", None, DEFAULT, secret=True)
    )
    [found] = differences([first, second])
    assert found.name == "token"
    assert [str(value) for value in found.values] == ["(secret)", "(none)"]
    assert uncompared_secrets([first, second]) == ["password"]


def test_defaults_are_those_of_kafka() -> None:
    found = differences_from_defaults(
        config(
            entry("as the default", "1", default="1"),
            entry("default", "1", DEFAULT, default="1"),
            entry("without a default", "x"),
            entry("other", "2", default="1"),
            entry("password", None, secret=True),
            entry("not told by old brokers", "1", "UNKNOWN"),
        ),
        {},
    )
    assert [(each.name, *map(str, each.values)) for each in found] == [
        ("other", "2", "1"),
        ("password", "(secret)", "(unknown)"),
        ("without a default", "x", "(unknown)"),
    ]


def test_what_a_topic_inherits_in_another_unit_is_its_default() -> None:
    topic = config(entry("retention.ms", "1"), entry("segment.ms", "2"), entry("flush.ms", "3"))
    broker = config(
        entry("log.retention.ms", None, DEFAULT),
        entry("log.retention.minutes", None, DEFAULT),
        entry("log.retention.hours", "168", DEFAULT),
        entry("log.roll.hours", "-1", DEFAULT),
    )
    found = differences_from_defaults(topic, broker)
    assert [(each.name, *map(str, each.values)) for each in found] == [
        ("flush.ms", "3", "(unknown)"),
        ("retention.ms", "1", "604800000"),
        ("segment.ms", "2", "-1"),
    ]
