"""Clients that write and read lines, each as its users run it, in a process of its own.

Invariant: a client that does not end within the deadline, or fails, fails the test with its output.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benches.peers import go_program
from tests.support.environments import packages
from tests.support.guarded_kafka import GuardedKafka
from tests.support.jars import REPOSITORY
from tests.support.kafka_releases import OLDEST

TIMEOUT = 150.0
_PROGRAMS = Path(__file__).parent / "programs"
_ORIGINALS = REPOSITORY / "requirements" / "frameworks" / "originals.txt"
# The releases before Kafka's tools moved into a package of their own.
_OLD_TOOLS = (OLDEST, "kafka-3.9")

Command = list[str]


@dataclass(frozen=True)
class Client:
    """A client's two commands: what they are given is the bootstrap address and the topic.

    Attributes:
        write: the command that writes the lines of its standard input.
        read: the command that prints this many records, as a member of a group.
        software: the start of the name that the client gives in ApiVersions; empty if it has none.
        env: variables of its environment.
    """

    write: Callable[[GuardedKafka, str, str], Command]
    read: Callable[[GuardedKafka, str, str, str, int], Command]
    software: str = ""
    env: Callable[[], Mapping[str, str]] = dict


def run(command: Sequence[str], stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
    """Run a command that must succeed; return its output."""
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
        cwd=REPOSITORY,
        env={**os.environ, **(env or {})},
    )
    said = done.stdout[-2000:] + done.stderr[-4000:]
    assert done.returncode == 0, (command, done.returncode, said.decode(errors="replace"))
    return done.stdout


def _console_write(kafka: GuardedKafka, bootstrap: str, topic: str) -> Command:
    package = "kafka.tools" if kafka.release in _OLD_TOOLS else "org.apache.kafka.tools"
    option = "--property" if kafka.release in _OLD_TOOLS else "--reader-property"
    servers = ("--bootstrap-server", bootstrap, "--topic", topic)
    return kafka.tool(f"{package}.ConsoleProducer", *servers, option, "parse.key=true")


def _console_read(
    kafka: GuardedKafka, bootstrap: str, topic: str, group: str, count: int
) -> Command:
    package = "org.apache.kafka.tools.consumer"
    if kafka.release == OLDEST:
        package = "kafka.tools"
    option = "--property" if kafka.release in _OLD_TOOLS else "--formatter-property"
    return kafka.tool(
        f"{package}.ConsoleConsumer",
        *("--bootstrap-server", bootstrap, "--topic", topic, "--group", group, "--from-beginning"),
        *("--max-messages", str(count), option, "print.key=true"),
    )


def _python(name: str, software: str = "", *, peer: bool = False) -> Client:
    """Return the client of a program in `programs`, with packages of its own if it is a peer."""
    program = str(_PROGRAMS / f"with_{name}.py")

    def env() -> dict[str, str]:
        return {"PYTHONPATH": str(packages("frameworks", "originals", _ORIGINALS))} if peer else {}

    return Client(
        lambda _, *where: [sys.executable, program, "write", *where],
        lambda _, *where: [sys.executable, program, "read", *map(str, where)],
        software,
        env,
    )


def _kcat_write(_: GuardedKafka, bootstrap: str, topic: str) -> Command:
    return ["kcat", "-b", bootstrap, "-P", "-t", topic, "-K", "\\t"]


def _kcat_read(_: GuardedKafka, bootstrap: str, topic: str, group: str, count: int) -> Command:
    start = ("-X", "auto.offset.reset=earliest", "-c", str(count), "-f", "%k\\t%s\\n")
    return ["kcat", "-b", bootstrap, "-q", *start, "-G", group, topic]


def _ottla_write(_: GuardedKafka, bootstrap: str, topic: str) -> Command:
    return [sys.executable, "-m", "ottla", "produce", bootstrap, "-t", topic, "-K", "\\t"]


def _ottla_read(_: GuardedKafka, bootstrap: str, topic: str, group: str, count: int) -> Command:
    start = ("--group", group, "-c", str(count), "-f", "%k\\t%s\\n")
    return [sys.executable, "-m", "ottla", "consume", bootstrap, "-t", topic, *start]


CLIENTS = {
    "Java": Client(_console_write, _console_read, "apache-kafka-java"),
    "confluent-kafka": _python("confluent_kafka", "confluent-kafka"),
    "aiokafka": _python("aiokafka", peer=True),
    "kafka-python": _python("kafka_python", peer=True),
    "franz-go": Client(
        lambda _, *where: [str(go_program.program()), "write", *where],
        lambda _, *where: [str(go_program.program()), "read", *map(str, where)],
        "kgo",
    ),
    "kcat": Client(_kcat_write, _kcat_read, "librdkafka"),
    "ottla": Client(_ottla_write, _ottla_read, "ottla"),
}
