"""Ten daily tasks of an operator, and each tool's shell command for them.

In a command, ``$B`` is the brokers' addresses, ``$N`` a number that no command had before, and
``$SINCE`` the time an hour ago in ms. ``kafka-*.sh`` are functions that start the tools' Java
classes as the scripts do. Invariant: a command does the whole task, or is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

OTTLA, KCAT, KAFKA, RPK = "ottla", "kcat", "kafka-*.sh", "rpk"
TOOLS = (OTTLA, KAFKA, KCAT, RPK)

_RPK = "rpk -X brokers=$B"


@dataclass(frozen=True)
class Task:
    """A task; a tool that cannot do it with one command has no command."""

    name: str
    commands: dict[str, str]
    notes: dict[str, str] = field(default_factory=dict)


TASKS = (
    Task(
        "Which topics are there, and are they healthy?",
        {
            OTTLA: "ottla topics list $B",
            KAFKA: "kafka-topics.sh --bootstrap-server $B --describe",
            KCAT: "kcat -b $B -L",
            RPK: f"{_RPK} topic list -d",
        },
    ),
    Task(
        "Describe a topic: leaders, replicas, offsets, configuration",
        {
            OTTLA: "ottla topics describe orders -b $B",
            RPK: f"{_RPK} topic describe orders -a",
        },
        {KAFKA: "no offsets: kafka-get-offsets.sh twice", KCAT: "no offsets, no configuration"},
    ),
    Task(
        "Create a topic with 6 partitions that keeps a day",
        {
            OTTLA: "ottla topics create daily-$N -p 6 -r 3 -c retention.ms=86400000 -b $B",
            KAFKA: "kafka-topics.sh --bootstrap-server $B --create --topic daily-$N "
            "--partitions 6 --replication-factor 3 --config retention.ms=86400000",
            RPK: f"{_RPK} topic create daily-$N -p 6 -r 3 -c retention.ms=86400000",
        },
    ),
    Task(
        "Change how long a topic keeps records",
        {
            OTTLA: "ottla configs set topic orders retention.ms=604800000 -b $B",
            KAFKA: "kafka-configs.sh --bootstrap-server $B --alter --entity-type topics "
            "--entity-name orders --add-config retention.ms=604800000",
            RPK: f"{_RPK} topic alter-config orders --set retention.ms=604800000",
        },
    ),
    Task(
        "How far behind is a group, in records and in time?",
        {OTTLA: "ottla groups lag billing -b $B"},
        {KAFKA: "records only", RPK: "records only"},
    ),
    Task(
        "Which of all groups is furthest behind?",
        {OTTLA: "ottla groups lag -b $B"},
        {KAFKA: "--all-groups lists each partition", RPK: "one group at a time"},
    ),
    Task(
        "Set a group back by an hour",
        {
            OTTLA: "ottla groups reset reports --to 1h --yes -b $B",
            KAFKA: "kafka-consumer-groups.sh --bootstrap-server $B --reset-offsets "
            "--group reports --topic orders --by-duration PT1H --execute",
            RPK: f"{_RPK} group seek reports --to $SINCE",
        },
    ),
    Task(
        "Show the newest ten records of a topic",
        {OTTLA: "ottla consume $B -t orders --last 10"},
        {
            KAFKA: "not by one command",
            KCAT: "ten of each partition",
            RPK: "ten of each partition",
        },
    ),
    Task(
        "Find an order in the records of the last hour",
        {
            OTTLA: "ottla consume $B -t orders -o 1h -e --where id=77777",
            KCAT: "kcat -b $B -C -q -t orders -o s@$SINCE -e | jq -c 'select(.id == 77777)'",
            RPK: f"{_RPK} topic consume orders -o @-1h:end -f '%v\\n' "
            "| jq -c 'select(.id == 77777)'",
        },
        {KAFKA: "no start by time"},
    ),
    Task(
        "How full are the disks of the brokers?",
        {OTTLA: "ottla brokers $B"},
        {
            KAFKA: "JSON of each replica's size",
            RPK: "sizes of replicas, not of disks",
        },
    ),
)
