"""The error codes of ``KafkaError``: librdkafka's own, which are negative, and those of brokers.

Invariants: the names and numbers are librdkafka's, since programs compare them; a broker's code is
stated in ``ottla.error_code`` alone; the texts are derived from the names, but for a few that a
name alone does not explain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.error_code import ErrorCode

if TYPE_CHECKING:

    class _Names(type):
        """The names of brokers' codes, which are attributes at run time."""

        def __getattr__(cls, name: str) -> int: ...

else:
    _Names = type


class ErrorCodes(metaclass=_Names):
    """The codes, as attributes that ``KafkaError`` inherits."""

    _BAD_MSG = -199
    _BAD_COMPRESSION = -198
    _DESTROY = -197
    _FAIL = -196
    _TRANSPORT = -195
    _CRIT_SYS_RESOURCE = -194
    _RESOLVE = -193
    _MSG_TIMED_OUT = -192
    _PARTITION_EOF = -191
    _UNKNOWN_PARTITION = -190
    _FS = -189
    _UNKNOWN_TOPIC = -188
    _ALL_BROKERS_DOWN = -187
    _INVALID_ARG = -186
    _TIMED_OUT = -185
    _QUEUE_FULL = -184
    _ISR_INSUFF = -183
    _NODE_UPDATE = -182
    _SSL = -181
    _WAIT_COORD = -180
    _UNKNOWN_GROUP = -179
    _IN_PROGRESS = -178
    _PREV_IN_PROGRESS = -177
    _EXISTING_SUBSCRIPTION = -176
    _ASSIGN_PARTITIONS = -175
    _REVOKE_PARTITIONS = -174
    _CONFLICT = -173
    _STATE = -172
    _UNKNOWN_PROTOCOL = -171
    _NOT_IMPLEMENTED = -170
    _AUTHENTICATION = -169
    _NO_OFFSET = -168
    _OUTDATED = -167
    _TIMED_OUT_QUEUE = -166
    _UNSUPPORTED_FEATURE = -165
    _WAIT_CACHE = -164
    _INTR = -163
    _KEY_SERIALIZATION = -162
    _VALUE_SERIALIZATION = -161
    _KEY_DESERIALIZATION = -160
    _VALUE_DESERIALIZATION = -159
    _PARTIAL = -158
    _READ_ONLY = -157
    _NOENT = -156
    _UNDERFLOW = -155
    _INVALID_TYPE = -154
    _RETRY = -153
    _PURGE_QUEUE = -152
    _PURGE_INFLIGHT = -151
    _FATAL = -150
    _INCONSISTENT = -149
    _GAPLESS_GUARANTEE = -148
    _MAX_POLL_EXCEEDED = -147
    _UNKNOWN_BROKER = -146
    _NOT_CONFIGURED = -145
    _FENCED = -144
    _APPLICATION = -143
    _ASSIGNMENT_LOST = -142
    _NOOP = -141
    _AUTO_OFFSET_RESET = -140
    _LOG_TRUNCATION = -139
    _INVALID_DIFFERENT_RECORD = -138
    _DESTROY_BROKER = -137

    # librdkafka has other names for these.
    UNKNOWN = ErrorCode.UNKNOWN_SERVER_ERROR.value
    NO_ERROR = ErrorCode.NONE.value
    INVALID_MSG = ErrorCode.CORRUPT_MESSAGE.value
    UNKNOWN_TOPIC_OR_PART = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.value
    INVALID_MSG_SIZE = ErrorCode.INVALID_FETCH_SIZE.value
    NOT_LEADER_FOR_PARTITION = ErrorCode.NOT_LEADER_OR_FOLLOWER.value
    MSG_SIZE_TOO_LARGE = ErrorCode.MESSAGE_TOO_LARGE.value
    STALE_CTRL_EPOCH = ErrorCode.STALE_CONTROLLER_EPOCH.value
    TOPIC_EXCEPTION = ErrorCode.INVALID_TOPIC_EXCEPTION.value


# Codes that librdkafka has no name for: of requests among brokers, and newer ones.
_WITHOUT_NAME = {*range(98, 110)} - {ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID}
_LAST = ErrorCode.SHARE_SESSION_LIMIT_REACHED

# Python 3.13 gives each class a number, too: __firstlineno__.
_NAMES: dict[int, str] = {
    code: name
    for name, code in vars(ErrorCodes).items()
    if isinstance(code, int) and not name.startswith("__")
}
for _code in ErrorCode:
    if _code <= _LAST and _code not in _WITHOUT_NAME and _code not in _NAMES:
        _NAMES[_code.value] = _code.name
        setattr(ErrorCodes, _code.name, _code.value)

_TEXTS: dict[int, str] = {
    ErrorCodes.NO_ERROR: "Success",
    ErrorCodes.UNKNOWN: "Unknown broker error",
    ErrorCodes._TRANSPORT: "Local: Broker transport failure",
    ErrorCodes._AUTHENTICATION: "Local: Authentication failure",
    ErrorCodes._FENCED: "Local: Fenced by a newer instance",
    ErrorCodes._INVALID_ARG: "Local: Invalid argument or configuration",
    ErrorCodes._MAX_POLL_EXCEEDED: "Local: No poll within max.poll.interval.ms",
    ErrorCodes._NO_OFFSET: "Local: No offset stored",
    ErrorCodes._NOENT: "Local: No such entry",
    ErrorCodes._PARTITION_EOF: "Local: End of the partition",
    ErrorCodes._PURGE_INFLIGHT: "Local: Purged in flight",
    ErrorCodes._PURGE_QUEUE: "Local: Purged in queue",
    ErrorCodes._STATE: "Local: Erroneous state",
}

# Abbreviations in names, and what they stand for.
_WORDS = {
    "MSG": "message",
    "PART": "partition",
    "CTRL": "controller",
    "COORD": "coordinator",
    "TXN": "transaction",
    "INTR": "interrupted",
    "SSL": "TLS error",
    "FS": "file system error",
    "ISR": "in-sync replicas",
    "INSUFF": "insufficient",
    "SASL": "SASL",
    "CRIT": "critical",
    "SYS": "system",
    "ID": "id",
}


def name_of(code: int) -> str:
    """Return the name of a code, such as ``_QUEUE_FULL``."""
    return _NAMES.get(code, f"ERR_{code}?")


def text_of(code: int) -> str:
    """Return the text for a code, such as ``Local: Queue full``."""
    if code in _TEXTS:
        return _TEXTS[code]
    name = _NAMES.get(code)
    if name is None:
        return f"Err-{code}?"
    words = [_WORDS.get(word, word.lower()) for word in name.strip("_").split("_")]
    text = " ".join(words)
    # librdkafka's own codes have names that begin with an underscore.
    return f"{'Local' if name.startswith('_') else 'Broker'}: {text[0].upper()}{text[1:]}"
