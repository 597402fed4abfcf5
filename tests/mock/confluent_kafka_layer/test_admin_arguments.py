"""Wrong arguments of ``AdminClient`` and its models raise the same classes as confluent-kafka's."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import confluent_kafka
import pytest

import ottla.compat.confluent_kafka as stand_in

Call = Callable[[Any, Any, Any], object]
"""A call of a client ``a``, the module ``k`` and its module ``m`` of ``admin``."""


def _binding(m: Any, **changes: object) -> object:
    fields: dict[str, object] = {
        "restype": m.ResourceType.TOPIC,
        "name": "topic",
        "resource_pattern_type": m.ResourcePatternType.LITERAL,
        "principal": "User:u",
        "host": "*",
        "operation": m.AclOperation.WRITE,
        "permission_type": m.AclPermissionType.ALLOW,
    }
    return m.AclBinding(**(fields | changes))


def _filter(m: Any, **changes: object) -> object:
    fields: dict[str, object] = {
        "restype": "any",
        "name": None,
        "resource_pattern_type": "any",
        "principal": None,
        "host": None,
        "operation": "any",
        "permission_type": "any",
    }
    return m.AclBindingFilter(**(fields | changes))


def _incremental(a: Any, m: Any, *entries: object) -> object:
    return a.incremental_alter_configs(
        [m.ConfigResource("topic", "t", incremental_configs=list(entries))]
    )


def _entry(m: Any, name: object, value: object, operation: object = "SET") -> object:
    known = m.AlterConfigOpType.__members__.get(str(operation), operation)
    return m.ConfigEntry(name, value, incremental_operation=known)


def _alter_offsets(a: Any, k: Any, *arguments: object) -> object:
    return a.alter_consumer_group_offsets([k.ConsumerGroupTopicPartitions(*arguments)])


def _list_offsets(a: Any, k: Any, *arguments: object) -> object:
    return a.list_consumer_group_offsets([k.ConsumerGroupTopicPartitions(*arguments)])


def _set_password(a: Any, m: Any, user: object, info: object, *arguments: object) -> object:
    if info == "sha512":
        info = m.ScramCredentialInfo(m.ScramMechanism.SCRAM_SHA_512, 5000)
    return a.alter_user_scram_credentials([m.UserScramCredentialUpsertion(user, info, *arguments)])


def _info(m: Any, *arguments: object) -> object:
    return m.ScramCredentialInfo(*arguments)


CALLS: dict[str, Call] = {
    "create none": lambda a, k, m: a.create_topics(None),
    "create nothing": lambda a, k, m: a.create_topics([]),
    "create a str": lambda a, k, m: a.create_topics("topic"),
    "create names": lambda a, k, m: a.create_topics(["topic"]),
    "create a tuple": lambda a, k, m: a.create_topics((m.NewTopic("t"),)),
    "create -2": lambda a, k, m: a.create_topics([m.NewTopic("t", -2)]),
    "create many": lambda a, k, m: a.create_topics([m.NewTopic("t", 100_001)]),
    "create replicas": lambda a, k, m: a.create_topics([m.NewTopic("t", 1, -2)]),
    "create many replicas": lambda a, k, m: a.create_topics([m.NewTopic("t", 1, 10_001)]),
    "create both": lambda a, k, m: a.create_topics([m.NewTopic("t", 1, 1, [[1]])]),
    "create too few": lambda a, k, m: a.create_topics([m.NewTopic("t", 2, -1, [[1]])]),
    "create ids": lambda a, k, m: a.create_topics([m.NewTopic("t", 1, -1, [["1"]])]),
    "create flat": lambda a, k, m: a.create_topics([m.NewTopic("t", 1, -1, [1])]),
    "flag": lambda a, k, m: a.create_topics([m.NewTopic("t")], validate_only="maybe"),
    "flag 1": lambda a, k, m: a.create_topics([m.NewTopic("t")], validate_only=1),
    "negative": lambda a, k, m: a.create_topics([m.NewTopic("t")], request_timeout=-5),
    "long": lambda a, k, m: a.create_topics([m.NewTopic("t")], request_timeout=3601),
    "text": lambda a, k, m: a.create_topics([m.NewTopic("t")], request_timeout="1"),
    "none": lambda a, k, m: a.create_topics([m.NewTopic("t")], request_timeout=None),
    "operation": lambda a, k, m: a.create_topics([m.NewTopic("t")], operation_timeout=-4.5),
    "unknown": lambda a, k, m: a.create_topics([m.NewTopic("t")], unknown=True),
    "delete none": lambda a, k, m: a.delete_topics(None),
    "delete a str": lambda a, k, m: a.delete_topics("topic"),
    "delete nothing": lambda a, k, m: a.delete_topics([]),
    "delete None": lambda a, k, m: a.delete_topics([None, "topic"]),
    "delete option": lambda a, k, m: a.delete_topics(["topic"], validate_only=True),
    "partitions none": lambda a, k, m: a.create_partitions(None),
    "partitions nothing": lambda a, k, m: a.create_partitions([]),
    "partitions 0": lambda a, k, m: a.create_partitions([m.NewPartitions("t", 0)]),
    "partitions ids": lambda a, k, m: a.create_partitions([m.NewPartitions("t", 2, [[]])]),
    "describe names": lambda a, k, m: a.describe_topics(["t"]),
    "describe a number": lambda a, k, m: a.describe_topics(k.TopicCollection([3])),
    "describe a str": lambda a, k, m: a.describe_topics(k.TopicCollection("t")),
    "describe empty": lambda a, k, m: a.describe_topics(k.TopicCollection([""])),
    "configs none": lambda a, k, m: a.describe_configs(None),
    "configs str": lambda a, k, m: a.describe_configs("t"),
    "configs nothing": lambda a, k, m: a.describe_configs([]),
    "configs None": lambda a, k, m: a.describe_configs([None]),
    "configs empty": lambda a, k, m: a.describe_configs([m.ConfigResource("topic", "")]),
    "configs broker": lambda a, k, m: a.describe_configs(
        [m.ConfigResource("topic", "t")], broker="1"
    ),
    "replace nothing": lambda a, k, m: a.alter_configs([]),
    "alter none": lambda a, k, m: a.incremental_alter_configs(None),
    "alter str": lambda a, k, m: a.incremental_alter_configs("t"),
    "alter nothing": lambda a, k, m: a.incremental_alter_configs([]),
    "alter no keys": lambda a, k, m: _incremental(a, m),
    "alter text": lambda a, k, m: _incremental(a, m, "text"),
    "alter operation": lambda a, k, m: _incremental(a, m, _entry(m, "n", "v", "NEW")),
    "alter no operation": lambda a, k, m: _incremental(a, m, m.ConfigEntry("n", "v")),
    "alter no name": lambda a, k, m: _incremental(a, m, _entry(m, None, "v")),
    "alter number": lambda a, k, m: _incremental(a, m, _entry(m, "n", 5)),
    "alter no value": lambda a, k, m: _incremental(a, m, _entry(m, "n", None)),
    "acls none": lambda a, k, m: a.create_acls(None),
    "acls str": lambda a, k, m: a.create_acls("topic"),
    "acls nothing": lambda a, k, m: a.create_acls([]),
    "acls None": lambda a, k, m: a.create_acls([None]),
    "acls twice": lambda a, k, m: a.create_acls([_binding(m), _binding(m)]),
    "acls unknown": lambda a, k, m: a.create_acls([_binding(m, operation="unknown")]),
    "describe acls": lambda a, k, m: a.describe_acls(None),
    "describe an acl": lambda a, k, m: a.describe_acls(_binding(m)),
    "delete acls": lambda a, k, m: a.delete_acls([]),
    "delete an acl": lambda a, k, m: a.delete_acls([_binding(m)]),
    "delete acls twice": lambda a, k, m: a.delete_acls([_filter(m), _filter(m)]),
    "groups list": lambda a, k, m: a.list_consumer_groups(states=["EMPTY"]),
    "groups set": lambda a, k, m: a.list_consumer_groups(states={"EMPTY"}),
    "groups type": lambda a, k, m: a.list_consumer_groups(types={k.ConsumerGroupType.UNKNOWN}),
    "describe groups": lambda a, k, m: a.describe_consumer_groups("group"),
    "describe no groups": lambda a, k, m: a.describe_consumer_groups([]),
    "describe None": lambda a, k, m: a.describe_consumer_groups([None]),
    "delete groups": lambda a, k, m: a.delete_consumer_groups("group"),
    "delete no groups": lambda a, k, m: a.delete_consumer_groups([]),
    "delete group 5": lambda a, k, m: a.delete_consumer_groups([5]),
    "offsets none": lambda a, k, m: a.list_consumer_group_offsets(None),
    "offsets nothing": lambda a, k, m: a.list_consumer_group_offsets([]),
    "offsets of 1": lambda a, k, m: _list_offsets(a, k, 1),
    "offsets of empty": lambda a, k, m: _list_offsets(a, k, ""),
    "offsets of str": lambda a, k, m: _list_offsets(a, k, "g", "topic"),
    "offsets of no": lambda a, k, m: _list_offsets(a, k, "g", []),
    "offsets of None": lambda a, k, m: _list_offsets(a, k, "g", [None]),
    "offsets of names": lambda a, k, m: _list_offsets(a, k, "g", ["t"]),
    "offsets of any": lambda a, k, m: _list_offsets(a, k, "g", [k.TopicPartition("t", -1)]),
    "offsets with": lambda a, k, m: _list_offsets(a, k, "g", [k.TopicPartition("t", 1, 1)]),
    "stable": lambda a, k, m: a.list_consumer_group_offsets(
        [k.ConsumerGroupTopicPartitions("g")], require_stable="x"
    ),
    "alter offsets": lambda a, k, m: _alter_offsets(a, k, "g"),
    "alter no offsets": lambda a, k, m: _alter_offsets(a, k, "g", []),
    "alter offset": lambda a, k, m: _alter_offsets(a, k, "g", [k.TopicPartition("t", 0, -1001)]),
    "users 10": lambda a, k, m: a.describe_user_scram_credentials(10),
    "users None": lambda a, k, m: a.describe_user_scram_credentials([None]),
    "users empty": lambda a, k, m: a.describe_user_scram_credentials([""]),
    "alter users": lambda a, k, m: a.alter_user_scram_credentials(None),
    "alter no users": lambda a, k, m: a.alter_user_scram_credentials([]),
    "alter user None": lambda a, k, m: a.alter_user_scram_credentials([None]),
    "alter user": lambda a, k, m: a.alter_user_scram_credentials(
        [m.UserScramCredentialAlteration("u")]
    ),
    "user None": lambda a, k, m: _set_password(a, m, None, "sha512", b"p"),
    "user empty": lambda a, k, m: _set_password(a, m, "", "sha512", b"p"),
    "password empty": lambda a, k, m: _set_password(a, m, "u", "sha512", b""),
    "password str": lambda a, k, m: _set_password(a, m, "u", "sha512", "p"),
    "password None": lambda a, k, m: _set_password(a, m, "u", "sha512", None),
    "salt empty": lambda a, k, m: _set_password(a, m, "u", "sha512", b"p", b""),
    "salt str": lambda a, k, m: _set_password(a, m, "u", "sha512", b"p", "s"),
    "info None": lambda a, k, m: _set_password(a, m, "u", None, b"p"),
    "iterations": lambda a, k, m: _set_password(
        a, m, "u", _info(m, m.ScramMechanism.SCRAM_SHA_512, 0), b"p"
    ),
    "iterations str": lambda a, k, m: _set_password(
        a, m, "u", _info(m, m.ScramMechanism.SCRAM_SHA_512, "5"), b"p"
    ),
    "mechanism": lambda a, k, m: _set_password(a, m, "u", _info(m, "SHA", 5000), b"p"),
    "delete mechanism": lambda a, k, m: a.alter_user_scram_credentials(
        [m.UserScramCredentialDeletion("u", "SHA")]
    ),
    "specs none": lambda a, k, m: a.list_offsets(None),
    "specs key": lambda a, k, m: a.list_offsets({"t": m.OffsetSpec.latest()}),
    "specs value": lambda a, k, m: a.list_offsets({k.TopicPartition("t", 0): "latest"}),
    "specs topic": lambda a, k, m: a.list_offsets({k.TopicPartition("", 0): m.OffsetSpec.latest()}),
    "isolation": lambda a, k, m: a.list_offsets({}, isolation_level=1),
    "records none": lambda a, k, m: a.delete_records(None),
    "records names": lambda a, k, m: a.delete_records(["t"]),
    "records any": lambda a, k, m: a.delete_records([k.TopicPartition("t")]),
    "elect type": lambda a, k, m: a.elect_leaders(0),
    "elect str": lambda a, k, m: a.elect_leaders(k.ElectionType.PREFERRED, "t"),
    "elect names": lambda a, k, m: a.elect_leaders(k.ElectionType.PREFERRED, ["t"]),
    "elect any": lambda a, k, m: a.elect_leaders(k.ElectionType.UNCLEAN, [k.TopicPartition("t")]),
    "topics 5": lambda a, k, m: a.list_topics(5),
    "topics timeout": lambda a, k, m: a.list_topics(timeout="1"),
    "poll": lambda a, k, m: a.poll(),
    "poll str": lambda a, k, m: a.poll("1"),
    "credentials": lambda a, k, m: a.set_sasl_credentials(None, "p"),
    "one credential": lambda a, k, m: a.set_sasl_credentials("p"),
    "no configuration": lambda a, k, m: m.AdminClient(),
    "configuration 5": lambda a, k, m: m.AdminClient(5),
    "unknown key": lambda a, k, m: m.AdminClient({"nope": 1}),
    "wrong value": lambda a, k, m: m.AdminClient({"socket.timeout.ms": "x"}),
    "error_cb": lambda a, k, m: m.AdminClient({"error_cb": 5}),
    "topic None": lambda a, k, m: m.NewTopic(None),
    "topic config": lambda a, k, m: m.NewTopic("t", config=["no dict"]),
    "topic count": lambda a, k, m: m.NewTopic("t", "1"),
    "topic set": lambda a, k, m: setattr(m.NewTopic("t"), "topic", "u"),
    "topic and other": lambda a, k, m: m.NewTopic("t") == 5,
    "partitions count": lambda a, k, m: m.NewPartitions("t"),
    "resource": lambda a, k, m: m.ConfigResource("nothing", "t"),
    "resource None": lambda a, k, m: m.ConfigResource("topic", None),
    "resource 77": lambda a, k, m: m.ConfigResource(77, "t"),
    "binding None": lambda a, k, m: _binding(m, name=None),
    "binding 5": lambda a, k, m: _binding(m, name=5),
    "binding any": lambda a, k, m: _binding(m, restype="any"),
    "binding match": lambda a, k, m: _binding(m, resource_pattern_type="match"),
    "binding nothing": lambda a, k, m: _binding(m, operation="nothing"),
    "binding 1.5": lambda a, k, m: _binding(m, operation=1.5),
    "filter unknown": lambda a, k, m: _filter(m, permission_type="unknown"),
    "filter None": lambda a, k, m: _filter(m, restype=None),
    "spec -9": lambda a, k, m: m.OffsetSpec(-9),
}


@pytest.fixture(scope="module")
def clients() -> Iterator[list[tuple[Any, ModuleType, Any]]]:
    """The original and the stand-in, with clients without brokers."""
    found = []
    for module in (confluent_kafka, stand_in):
        admin: Any = importlib.import_module(f"{module.__name__}.admin")
        found.append((admin.AdminClient({"socket.timeout.ms": 10}), module, admin))
    yield found
    for client, _, _ in found:
        client.__exit__(None, None, None)


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments(name: str, clients: list[tuple[Any, ModuleType, Any]]) -> None:
    raised = []
    for client, module, admin in clients:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            with pytest.raises(Exception) as error:  # noqa: PT011 - the classes are compared
                CALLS[name](client, module, admin)
        raised.append(error.type.__name__)
    assert raised[1] == raised[0]
