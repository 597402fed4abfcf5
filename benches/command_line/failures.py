"""What goes wrong on a bad day, and each tool's command that meets it.

Invariant: every tool reads the same topic or group of the same cluster, so that the outputs differ
by the tool alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from benches.command_line.tools import KAF, KAFKACTL, KCAT, OTTLA, RPK

_READ = {
    OTTLA: "ottla consume -t orders -c 1",
    KCAT: "kcat -C -t orders -c 1",
    RPK: "rpk topic consume orders -n 1",
    KAF: "kaf consume orders -l 1 -p 0",
    KAFKACTL: "kafkactl consume orders -b --max-messages 1",
}
_LIST = {
    OTTLA: "ottla topics list",
    KCAT: "kcat -L",
    RPK: "rpk topic list",
    KAF: "kaf topics",
    KAFKACTL: "kafkactl get topics",
}


@dataclass(frozen=True)
class Failure:
    """A failure.

    Args:
        name: its title on the page.
        target: which of ``run``'s targets the commands use.
        commands: by tool.
        cause: a regular expression for the outputs that name the cause.
    """

    name: str
    target: str
    commands: dict[str, str]
    cause: str


ALIVE = (
    Failure(
        "The name of the topic is misspelt",
        "plain",
        {tool: command.replace("orders", "ordrs") for tool, command in _READ.items()},
        r"(?is)ordrs.*(not (exist|found)|no such|unknown)|unknown.*topic|no topics found",
    ),
    Failure("The port is wrong", "port", _LIST, r"(?i)refused"),
    Failure(
        "The password is wrong",
        "password",
        _LIST,
        r"(?i)authentication failed|invalid credentials|SASL_AUTHENTICATION_FAILED",
    ),
    Failure(
        "TLS on the port of a listener without TLS",
        "tls",
        _LIST,
        r"(?i)not (speak|use|look like)[^\n]*TLS|without TLS|plaintext|"
        r"using TLS when the broker is not|first record does not look",
    ),
    Failure(
        "The user may not read the topic",
        "alice",
        _READ,
        r"(?i)authoriz[^\n]*|not authorized",
    ),
)
DOWN = (
    Failure(
        "The coordinator of a group is down: which groups are there?",
        "plain",
        {
            OTTLA: "ottla groups list",
            RPK: "rpk group list",
            KAF: "kaf groups",
            KAFKACTL: "kafkactl get cg",
        },
        r"(?i)coordinator|refused|broker \d|could not",
    ),
    Failure(
        "The coordinator of a group is down: how far behind is it?",
        "plain",
        {
            OTTLA: "ottla groups lag {group}",
            RPK: "rpk group describe {group}",
            KAF: "kaf group describe {group}",
            KAFKACTL: "kafkactl describe cg {group}",
        },
        r"(?i)coordinator|refused",
    ),
)
