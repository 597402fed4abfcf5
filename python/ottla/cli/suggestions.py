"""Suggestions for names that do not exist: the existing names that are most like them.

Invariant: a suggestion is an addition to an error; if the names cannot be listed, the error stays
as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from ottla import Admin
from ottla.error_code import ErrorCode
from ottla.errors import ConfigError, KafkaError, UnknownTopicError

# The similarity of two names, from 0 to 1; difflib's own default.
_SIMILARITY = 0.6
# An error must not wait long for the names.
_TIMEOUT = 5.0
_UNKNOWN = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
    ErrorCode.RESOURCE_NOT_FOUND,
}


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean orders?`` for a name like an existing one; else an empty text."""
    # Commands that need no suggestion start faster without it.
    import difflib

    names = [each for each in known if each != name]
    # A name in another case, or a part of a name, is less similar than it looks.
    folded = {each.casefold(): each for each in names}
    close = difflib.get_close_matches(name.casefold(), folded, 1, _SIMILARITY)
    return f"; did you mean {folded[close[0]]}?" if close else ""


def suggest(error: KafkaError, name: str, known: Callable[[], Iterable[str]]) -> KafkaError:
    """Add a suggestion to the error of a name that does not exist; return the error.

    Args:
        error: the error.
        name: the name.
        known: lists the names that exist; called only for errors of unknown names.
    """
    if error.code in _UNKNOWN:
        with suppress(KafkaError):
            error.args = (f"{error}{suggestion(name, known())}",)
    return error


def with_topics(client: Admin, error: KafkaError) -> KafkaError:
    """Add a suggestion to the error of a topic that does not exist; return the error."""
    topic = error.context.get("topic")
    if not isinstance(topic, str):
        return error

    def known() -> list[str]:
        names = [each.name for each in client.list_topics(internal=True, timeout=_TIMEOUT)]
        # If the topic exists, its partition does not.
        return [] if topic in names else names

    return suggest(error, topic, known)


def with_login(error: KafkaError) -> KafkaError:
    """Add how to log in to the error of a connection without a principal that may have tokens."""
    if error.code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED:
        advice = "use SASL, but not with a token, or TLS with a client certificate"
        error.args = (f"{error}: {advice} (security.protocol in --config or --profile)",)
    return error


def check_topics(client: Admin, names: Iterable[str]) -> None:
    """Check that topics exist, as far as the principal may know.

    Raises:
        UnknownTopicError: one does not.
    """
    wanted = list(dict.fromkeys(names))
    found = client.describe_topics(wanted, errors="return") if wanted else {}
    for topic in found.values():
        if isinstance(topic, UnknownTopicError):
            raise with_topics(client, topic)


@contextmanager
def suggest_group(client: Admin, group: str) -> Iterator[None]:
    """Add a suggestion to the error of the block if there is no such group."""
    try:
        yield
    except KafkaError as error:
        if isinstance(error, ConfigError) or error.code == ErrorCode.GROUP_ID_NOT_FOUND:
            with suppress(KafkaError):
                names = _groups(client)
                similar = "" if group in names else suggestion(group, names)
                error.args = (f"{error}{similar}",)
        raise


def _groups(client: Admin) -> list[str]:
    return [each.group_id for each in client.list_groups(errors="return", timeout=_TIMEOUT)]


def with_groups(client: Admin, failed: Mapping[str, KafkaError]) -> list[KafkaError]:
    """Add suggestions to the errors of groups; return the errors."""
    for group, error in failed.items():
        error.context.setdefault("group_id", group)
    return [suggest(error, group, lambda: _groups(client)) for group, error in failed.items()]


def with_transactional_ids(client: Admin, failed: Mapping[str, KafkaError]) -> list[KafkaError]:
    """Add suggestions to the errors of transactional ids; return the errors."""

    def known() -> list[str]:
        listed = client.list_transactions(errors="return", timeout=_TIMEOUT)
        return [each.transactional_id for each in listed]

    for name, error in failed.items():
        error.context.setdefault("transactional_id", name)
    return [suggest(error, name, known) for name, error in failed.items()]


def with_users(client: Admin, error: KafkaError, user: str) -> KafkaError:
    """Add a suggestion to the error of a user without SCRAM passwords; return the error."""
    return suggest(error, user, lambda: client.describe_user_scram_credentials(timeout=_TIMEOUT))


def unknown(kind: str, name: str, known: Iterable[str]) -> ConfigError:
    """Return the error of a name that is in no list of the cluster, such as a key."""
    return ConfigError(f"{kind} {name!r} does not exist{suggestion(name, known)}")
