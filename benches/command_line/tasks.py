"""Daily tasks, and the command of each tool for them.

In a command, ``{n}`` is a number that no command had before; ``{since}`` and ``{until}`` are times
an hour and 50 minutes ago in UTC, and ``{since_ms}`` and ``{until_ms}`` the same in ms since 1970.
Invariant: a tool without a command has a reason; a command with one does a part of the task.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from benches.command_line.tools import KAF, KAFKACTL, KCAT, OTTLA, RPK

_TEXT = '"id": 27777,'


@dataclass(frozen=True)
class Task:
    """A task.

    Args:
        name: its title on the page.
        commands: by tool.
        reasons: by tool, why it does a part of the task only, or none of it.
        shows: a regular expression that is in the output of whoever did the task.
        prepare: commands of ottla that precede each command, unmeasured.
    """

    name: str
    commands: dict[str, str]
    reasons: dict[str, str] = field(default_factory=dict)
    shows: str = ""
    prepare: tuple[str, ...] = ()


TASKS = (
    Task(
        "How far behind is a group, and which member reads which partition?",
        {
            OTTLA: "ottla groups lag billing",
            RPK: "rpk group describe billing",
            KAF: "kaf group describe billing",
            KAFKACTL: "kafkactl describe cg billing",
        },
        {
            OTTLA: "",
            KCAT: "no groups",
            RPK: "no age of the next record",
            KAF: "no age of the next record",
            KAFKACTL: "no age of the next record",
        },
        "orders",
    ),
    Task(
        "Read the newest five records of a topic with keys, headers and times",
        {
            OTTLA: "ottla consume -t orders --last 5 -J",
            KCAT: "kcat -C -t orders -o -5 -e -J",
            RPK: "rpk topic consume orders -o -5 -n 30",
            KAF: "kaf consume orders -n 5",
            KAFKACTL: "kafkactl consume orders --tail 5 --print-all",
        },
        {
            KCAT: "five of each partition",
            RPK: "five of each partition, and it ends only if you name their number",
            KAF: "five of each partition",
        },
        "customer",
    ),
    Task(
        "Find a text in the records between two times",
        {
            OTTLA: f"ottla consume -t orders -o {{since}} -o e@{{until}} --value '{_TEXT}'",
            KCAT: "kcat -C -t orders -q -o s@{since_ms} -o e@{until_ms}" + f" | grep '{_TEXT}'",
            RPK: f"rpk topic consume orders -o @-1h:-50m -f '%v\\n' | grep '{_TEXT}'",
            KAFKACTL: "kafkactl consume orders -e --from-timestamp {since} --to-timestamp {until}"
            f" --filter-value '*{_TEXT}*'",
        },
        {KAF: "no start by time"},
        "27777",
    ),
    Task(
        "Create a topic with settings",
        {
            OTTLA: "ottla topics create daily-{n} -p 6 -r 3 -c retention.ms=86400000",
            RPK: "rpk topic create daily-{n} -p 6 -r 3 -c retention.ms=86400000",
            KAF: "kaf topic create daily-{n} -p 6 -r 3\n"
            "kaf topic set-config daily-{n} retention.ms=86400000",
            KAFKACTL: "kafkactl create topic daily-{n} -p 6 -r 3 -c retention.ms=86400000",
        },
        {KCAT: "creates no topics", KAF: "by two commands"},
        "daily",
    ),
    Task(
        "Change how long a topic keeps records",
        {
            OTTLA: "ottla configs set topic orders retention.ms=604800000",
            RPK: "rpk topic alter-config orders --set retention.ms=604800000",
            KAF: "kaf topic set-config orders retention.ms=604800000",
            KAFKACTL: "kafkactl alter topic orders -c retention.ms=604800000",
        },
        {KCAT: "changes nothing"},
    ),
    Task(
        "Set a group back to a time, after a look at what would change",
        {
            OTTLA: "ottla groups reset reports --to {since}\n"
            "ottla groups reset reports --to {since} --yes",
            RPK: "rpk group seek reports --to {since_ms}",
            KAFKACTL: "kafkactl reset offset reports -t orders --to-datetime {since}\n"
            "kafkactl reset offset reports -t orders --to-datetime {since} -e",
        },
        {KCAT: "no groups", RPK: "no preview", KAF: "by offset only, not by time"},
        "orders|TARGET_OFFSET",
        ("ottla groups reset reports --to 100 --yes",),
    ),
    Task(
        "Which brokers are there, who leads what, what is under-replicated?",
        {
            OTTLA: "ottla topology -t orders",
            KCAT: "kcat -L -t orders",
            RPK: "rpk cluster metadata -d",
            KAF: "kaf nodes\nkaf topic describe orders",
            KAFKACTL: "kafkactl get brokers\nkafkactl describe topic orders",
        },
        {
            KCAT: "replicas beside in-sync ones: compare them yourself",
            RPK: "replicas and offline ones, not those in sync",
            KAF: "by two commands; compare replicas yourself",
            KAFKACTL: "by two commands; compare replicas yourself",
        },
        "(?i)lead",
    ),
    Task(
        "Write a few records with keys",
        {
            OTTLA: "printf 'a:1\\nb:2\\n' | ottla produce -t notes -K :",
            KCAT: "printf 'a:1\\nb:2\\n' | kcat -P -t notes -K :",
            RPK: "printf 'a:1\\nb:2\\n' | rpk topic produce notes -f '%k:%v\\n'",
            KAF: "echo 1 | kaf produce notes -k a; echo 2 | kaf produce notes -k b",
            KAFKACTL: "printf 'a:1\\nb:2\\n' | kafkactl produce notes -S :",
        },
        {KAF: "one key a command, or JSON"},
    ),
    Task(
        "Delete the records of a partition before an offset",
        {
            OTTLA: "ottla topics delete-records trimmed:0 --before 10 --yes",
            RPK: "rpk topic trim-prefix trimmed -p 0 -o 10 --no-confirm",
            KAFKACTL: "kafkactl delete records trimmed --offset 0=10",
        },
        {KCAT: "deletes nothing", KAF: "deletes topics only"},
    ),
    Task(
        "Which ACLs decide who may use a topic?",
        {
            OTTLA: "ottla acls list --topic orders --affecting",
            RPK: "rpk security acl list --topic orders --resource-pattern-type match",
            KAFKACTL: "kafkactl get acl -t -r orders --pattern match",
        },
        {KCAT: "no ACLs", KAF: "no ACLs"},
        "(?i)reader.*read|read.*reader",
    ),
    Task(
        "Read records in Avro by a schema registry",
        {
            OTTLA: "ottla consume -t payments -e --value-format avro",
            RPK: "rpk topic consume payments -o :end -f '%v\\n' --use-schema-registry=value",
            KAF: "kaf consume payments",
            KAFKACTL: "kafkactl consume payments -b -e",
        },
        {KCAT: "Debian's build has no Avro; others read it by `-s value=avro -r URL`"},
        '"?amount"?: ?"?12.5',
    ),
)
