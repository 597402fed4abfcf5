"""A bool is no number, and a text is no mapping and no list, in any public function.

The parameters are found in the source. See ``tests/support/public_calls.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import ottla
from ottla.admin import CommittedOffset, NewTopic, QuotaEntity, SetPassword, Shift
from ottla.errors import ArgumentTypeError
from ottla.testing import MockCluster, MockRegistry
from tests.support.public_calls import Parameter, parameters
from tests.support.wrong_arguments import errors_of

NUMBER = re.compile(r"^(int|float)( \||$)|\b(int|float) \| None|\| (int|float)\b")
INSIDE = re.compile(r"\[.*\b(int|float)\b.*\]")
MAPPING = re.compile(r"^(Mapping|dict|Headers|OffsetsOrRecord|Offsets)\b")
LIST = re.compile(r"^(Iterable|Sequence|Collection)\[")
# Names of types in the stubs that have numbers inside.
ALIASES = {"OffsetsOrRecord", "Offsets", "Iterable[TopicPartition] | None"}
# A number here may also be a text, or any value.
OTHER_TYPES = {"schema", "bootstrap", "url", "limits"}


def inside(parameter: Parameter, wrong: Any) -> Any:
    """Return a value of a collection or mapping with a wrong number in it."""
    values: dict[str, Any] = {
        "assignments": {"a": [[wrong]]},
        "alterations": {QuotaEntity(user="u"): {"producer_byte_rate": wrong}},
        "brokers": [wrong],
        "counts": {"a": wrong},
        "levels": {"transaction.version": wrong},
        "limits": {"schema.fixed.max.bytes": wrong},
        "offsets": {("a", 0): wrong},
        "partitions": [("a", wrong)],
        "producer_ids": [wrong],
        "ranges": [("a", wrong, 0, 1)],
        "spec": {("a", 0): wrong},
        "specs": {("a", 0): wrong},
        "targets": {("a", 0): [wrong]},
        "timestamps": {("a", 0): wrong},
    }
    others: dict[tuple[str, str], Any] = {
        ("send_batch", "partitions"): [wrong],
        ("send_batch", "timestamps"): [wrong],
        ("scan", "partitions"): [wrong],
    }
    return others.get((parameter.function, parameter.name), values[parameter.name])


def numbers() -> Iterable[tuple[Parameter, bool]]:
    """Yield the parameters that are numbers, and whether they are inside something."""
    for each in parameters():
        if each.name in OTHER_TYPES:
            continue
        if LIST.match(each.annotation) or MAPPING.match(each.annotation):
            if INSIDE.search(each.annotation) or each.annotation in ALIASES:
                yield each, True
        elif NUMBER.search(each.annotation):
            yield each, False


def texts() -> Iterable[tuple[Parameter, bool]]:
    """Yield the parameters that are mappings or lists, and so no text."""
    for each in parameters():
        if "str |" in re.sub(r"\[.*\]", "", each.annotation) or each.name in OTHER_TYPES:
            continue
        if MAPPING.match(each.annotation) or LIST.match(each.annotation):
            yield each, False


def check(each: Parameter, error: BaseException | None, wrong: list[str]) -> None:
    """Note a call that did not refuse its argument by name."""
    # Names and partitions are listed by several parameters, whose errors give the form.
    name = "partition" if "artition" in each.name else each.name.removeprefix("schema_").rstrip("s")
    text = str(error)
    is_named = name in text or "expected a list" in text or "in a list" in text
    if not isinstance(error, ArgumentTypeError) or not is_named or "expected" not in text:
        wrong.append(f"{each}: {type(error).__name__} {text}")


def walk(
    cluster: MockCluster, registry: MockRegistry, found: list[tuple[Parameter, Any]]
) -> list[str]:
    """Call each function with its wrong argument; return the calls that do not refuse it."""
    wrong: list[str] = []
    for each, error in errors_of(cluster, registry, found):
        check(each, error, wrong)
    return wrong


@pytest.fixture
def cluster(mock_cluster: MockCluster) -> MockCluster:
    """A cluster with the topic a."""
    mock_cluster.create_topic("a", partitions=1)
    return mock_cluster


@pytest.mark.parametrize("wrong", [True, np.True_], ids=["bool", "numpy"])
def test_no_number_is_a_bool(
    cluster: MockCluster, mock_registry: MockRegistry, wrong: object
) -> None:
    found = [(each, inside(each, wrong) if is_inside else wrong) for each, is_inside in numbers()]
    assert len(found) > 300
    assert walk(cluster, mock_registry, found) == []


def test_no_mapping_and_no_list_is_a_text(
    cluster: MockCluster, mock_registry: MockRegistry
) -> None:
    found = [(each, "abc") for each, _ in texts()]
    assert len(found) > 100
    assert walk(cluster, mock_registry, found) == []


def test_no_number_inside_an_argument_is_a_bool(cluster: MockCluster) -> None:
    with ottla.Admin(cluster.bootstrap) as admin, ottla.Producer(cluster.bootstrap) as producer:
        calls: list[tuple[str, Callable[[], object]]] = [
            ("partitions", lambda: admin.create_topics([NewTopic("b", True)])),
            ("replication", lambda: admin.create_topics([NewTopic("b", 1, True)], dry_run=True)),
            ("assignments", lambda: admin.create_topics([NewTopic("b", assignments=[[True]])])),
            ("offsets", lambda: admin.alter_group_offsets("g", {("a", 0): CommittedOffset(True)})),
            ("offsets", lambda: admin.delete_records({("a", True): 1})),
            ("target", lambda: admin.reset_group_offsets("g", True)),
            ("target.by", lambda: admin.reset_group_offsets("g", Shift(True))),
            (
                "iterations",
                lambda: admin.alter_user_scram_credentials(
                    {"u": [SetPassword("p", iterations=True)]}
                ),
            ),
            ("start", lambda: ottla.scan("a", cluster.bootstrap, start=True)),
            ("end", lambda: ottla.scan("a", cluster.bootstrap, start=0, end={0: True})),
            ("timestamps", lambda: producer.send_batch("a", [b"v"], timestamps=[True])),
        ]
        for name, refused in calls:
            with pytest.raises(ArgumentTypeError) as raised:
                refused()
            assert name in str(raised.value), raised.value


def test_headers_and_configs_are_shown_in_the_right_form(cluster: MockCluster) -> None:
    with ottla.Admin(cluster.bootstrap) as admin, ottla.Producer(cluster.bootstrap) as producer:
        wrong: Any = "abc"
        with pytest.raises(ArgumentTypeError, match=r'headers.*\("name", b"value"\)'):
            producer.send("a", b"v", headers=wrong)
        for dry_run in (False, True):
            with pytest.raises(ArgumentTypeError, match=r"configs is of type str: expected a"):
                admin.create_topic("b", configs=wrong, dry_run=dry_run)
        with pytest.raises(ArgumentTypeError, match=r"cleanup.policy\] is 1: expected a str"):
            admin.create_topic("b", configs={"cleanup.policy": 1})  # type: ignore[dict-item]
        assert "b" not in [topic.name for topic in admin.list_topics()]


def test_a_text_in_place_of_a_configuration_is_not_shown(cluster: MockCluster) -> None:
    """It may have a password."""
    text: Any = "sasl.password=hunter2"
    with ottla.Admin(cluster.bootstrap) as admin:
        calls: list[Callable[[], object]] = [
            lambda: ottla.Client(cluster.bootstrap, text),
            lambda: ottla.schema.Registry("http://registry", text),
            lambda: ottla.transform(
                lambda _: None, "a", "b", cluster.bootstrap, text, group_id="g"
            ),
            lambda: admin.alter_user_scram_credentials(text),
        ]
        expected = "is of type str: expected a mapping"
        for call_of in calls:
            with pytest.raises(ArgumentTypeError, match=expected) as raised:
                call_of()
            assert "hunter2" not in str(raised.value)


def test_integers_of_numpy_are_numbers(cluster: MockCluster) -> None:
    one, zero = np.int64(1), np.int32(0)
    servers = cluster.bootstrap
    numbers: Any = np.array([2], dtype=np.int16)
    with ottla.Admin(servers) as admin, ottla.Producer(servers, linger_ms=np.int8(1)) as producer:
        metadata = producer.send("a", b"v", partition=zero, timestamp=one).result(
            timeout=np.float32(60)
        )
        assert (metadata.offset, metadata.timestamp) == (0, 1)
        producer.send_batch("a", [b"w"], partitions=[zero], timestamps=[np.int64(2)]).result()
        assert admin.list_offsets({("a", zero): one})["a", 0].offset == 0
        admin.create_partitions({"a": numbers[0]})
        assert len(admin.describe_topics(["a"])["a"].partitions) == 2
        assert admin.alter_group_offsets("g", {("a", zero): one}) == {("a", 0): None}
    with ottla.Consumer(servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([("a", zero)])
        consumer.seek("a", zero, one)
        assert consumer.position("a", zero, timeout=np.float64(60)) == 1
        assert [
            record.value for record in consumer.poll(timeout=np.int64(60), max_records=one)
        ] == [b"w"]
