"""Keeps the classes that a broker loads as the JVM has them in memory: class data sharing, JEP 350.

    python -m tests.support.class_archive

The tests start scores of brokers, and loading their classes is half of the processor time of a
start. Invariant: a JVM that cannot use the archive starts without it: other Java, other jars.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.support import kafka_properties
from tests.support.jars import class_archive, jar_directory
from tests.support.kafka_node import KafkaNode
from tests.support.kafka_releases import CURRENT
from tests.support.ports import free_ports

_ADDRESS = "127.0.0.1"
_STARTED = "Kafka Server started"
_DEADLINE_S = 120


def write(archive: Path) -> None:
    """Start a broker, and stop it: the JVM writes the archive when it ends."""
    port, controller_port = free_ports(2)
    with tempfile.TemporaryDirectory(prefix="ottla-archive-") as directory:
        home = Path(directory) / "broker"
        written = Path(directory) / archive.name
        node = KafkaNode(
            1,
            home,
            port,
            {
                **kafka_properties.common(1, home, "rack-a"),
                **kafka_properties.kraft(
                    1, _ADDRESS, port, controller_port, f"1@{_ADDRESS}:{controller_port}"
                ),
            },
            [
                "-Xmx512m",
                f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
                *("-cp", f"{jar_directory(CURRENT)}/*"),
            ],
            # Any id of 16 bytes.
            cluster_id="Y2xhc3MtZGF0YS1zaGFyZQ",
            server_jvm=[f"-XX:ArchiveClassesAtExit={written}"],
        )
        node.start()
        try:
            _wait_until_started(node)
            node.shut_down()
        finally:
            node.kill()
        if not written.is_file():
            raise RuntimeError(f"the JVM wrote no archive; its log ends:\n{node.log_tail()}")
        # A name appears with its content: other processes may be about to start brokers.
        copy = archive.with_suffix(".jsa.new")
        copy.write_bytes(written.read_bytes())
        copy.replace(archive)


def _wait_until_started(node: KafkaNode) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while _STARTED not in (node.log.read_text(errors="replace") if node.log.exists() else ""):
        if node.pid is None or time.monotonic() > deadline:
            raise RuntimeError(f"the broker did not start; its log ends:\n{node.log_tail()}")
        time.sleep(0.1)


if __name__ == "__main__":
    path = class_archive(CURRENT)
    stamp = jar_directory(CURRENT).with_name(f"{CURRENT}.stamp")
    if not path.is_file() or path.stat().st_mtime < stamp.stat().st_mtime:
        try:
            write(path)
            sys.stdout.write(f"  the classes of a broker: {path.stat().st_size / 1e6:.0f} MB\n")
        except RuntimeError as error:
            # A JVM of another maker may have no archives.
            sys.stderr.write(f"brokers will start without an archive of their classes: {error}\n")
