"""Results of several items, some of which failed: partial results, and what is missing.

Invariant: each item that failed is named on standard error, the others are shown or changed, and
the exit code is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from ottla._core import error_of_code
from ottla.admin import Plan
from ottla.cli.messages import say_error
from ottla.cli.output import collect_failure
from ottla.error_code import ErrorCode
from ottla.errors import ConfigError, KafkaError

K = TypeVar("K")
V = TypeVar("V")


def print_errors(errors: Iterable[KafkaError]) -> int:
    """Print errors on standard error.

    Returns:
        The exit code: 1 if there is an error.
    """
    code = 0
    for error in errors:
        code = 1
        collect_failure(error)
        doubt = "; the change may have been made nevertheless" if error.maybe_done else ""
        say_error(error, suffix=doubt)
    return code


def split(results: Mapping[K, V | KafkaError]) -> tuple[dict[K, V], dict[K, KafkaError]]:
    """Return the results of the items that succeeded, and the errors of the others."""
    found = {item: each for item, each in results.items() if not isinstance(each, KafkaError)}
    failed = {item: each for item, each in results.items() if isinstance(each, KafkaError)}
    return found, failed


def each_alone(
    items: Iterable[K], call: Callable[[K], V]
) -> tuple[dict[K, V], dict[K, KafkaError]]:
    """Call a function with one item at a time.

    Returns:
        The results of the items that succeeded, and the errors of the others.

    Raises:
        ConfigError: an argument is invalid whatever the item is.
    """
    found: dict[K, V] = {}
    failed: dict[K, KafkaError] = {}
    for item in dict.fromkeys(items):
        try:
            found[item] = call(item)
        except ConfigError:
            raise
        except KafkaError as error:
            failed[item] = error
    return found, failed


def broker_down(broker: int, detail: str) -> KafkaError:
    """Return the error of a broker of the cluster that is not alive, with what is known of it."""
    message = f"broker {broker} is down or starting, so it was not asked; {detail}"
    error = error_of_code(ErrorCode.BROKER_NOT_AVAILABLE, message)
    error.context["broker"] = broker
    return error


def joined_plan(plans: Iterable[Plan]) -> Plan:
    """Return the changes of several plans as one."""
    return Plan([change for plan in plans for change in plan])
