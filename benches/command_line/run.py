"""Times the commands of ``tasks.py`` on three brokers, each from start to end of its process.

    python -m benches.command_line.run [--rounds 5]

kcat, jq and rpk must be on PATH; a tool that is missing is named and left out of the table.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import ottla
from benches.command_line.tasks import KCAT, RPK, TASKS, TOOLS, Task
from tests.support.jars import jar_directory, java
from tests.support.kafka_cluster import KafkaCluster

RECORDS = 100_000
_SCRIPTS = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
}
_numbers = itertools.count(int(time.time()))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    tools = [tool for tool in TOOLS if _is_there(tool)]
    with KafkaCluster() as kafka:
        fill(kafka.bootstrap)
        print("| task | " + " | ".join(tools) + " |")
        print("|---|" + "---|" * len(tools))
        for task in TASKS:
            cells = [_cell(task, tool, kafka.bootstrap, options.rounds) for tool in tools]
            print(f"| {task.name} | " + " | ".join(cells) + " |", flush=True)
    return 0


def _is_there(tool: str) -> bool:
    programs = {KCAT: ("kcat", "jq"), RPK: ("rpk", "jq")}.get(tool, ())
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        print(f"without {tool}: {', '.join(missing)} not on PATH", file=sys.stderr)
    return not missing


def fill(bootstrap: str) -> None:
    """Write orders of the last two hours, and groups that have read some of them."""
    with ottla.Admin(bootstrap) as admin:
        admin.create_topic("orders", 6, 3)
        now = int(time.time() * 1000)
        with ottla.Producer(bootstrap, linger_ms=20) as producer:
            for number in range(RECORDS):
                value = json.dumps({"id": number, "customer": number % 1000, "amount": 12.5})
                at = now - 7_200_000 + number * 7_200_000 // RECORDS
                producer.send("orders", value, str(number), timestamp=at)
        for group, offset in (("billing", 9_000), ("reports", 100)):
            admin.alter_group_offsets(group, {("orders", each): offset for each in range(6)})


def _cell(task: Task, tool: str, bootstrap: str, rounds: int) -> str:
    if tool not in task.commands:
        return task.notes.get(tool, "—")
    seconds = statistics.median(_run(task.commands[tool], bootstrap) for _ in range(rounds))
    return f"{seconds:.2f} s"


def _run(command: str, bootstrap: str) -> float:
    """Run a command; return its seconds."""
    environment = {
        **os.environ,
        "B": bootstrap,
        "N": str(next(_numbers)),
        "SINCE": str(int(time.time() * 1000) - 3_600_000),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    started = time.monotonic()
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"{_functions()}\n{command}"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    seconds = time.monotonic() - started
    if done.returncode != 0 or not done.stdout:
        raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return seconds


def _functions() -> str:
    """Return shell functions for Kafka's scripts, with the options that these pass to Java."""
    classpath = shlex.quote(f"{jar_directory('brokers')}/*")
    options = "-Xmx256M -server -XX:+UseG1GC -Dottla.log.target=SYSTEM_ERR -Dottla.log.level=error"
    return "\n".join(
        f'{name}() {{ {shlex.quote(java())} {options} -cp {classpath} {main} "$@"; }}'
        for name, main in _SCRIPTS.items()
    )


if __name__ == "__main__":
    sys.exit(main())
