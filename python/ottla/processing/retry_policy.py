"""What happens to a record that failed: its topics, its delays, and which exceptions count.

Invariants: the class nearest to an exception's own decides; what is not an ``Exception``, such as
KeyboardInterrupt and CancelledError, never counts as a failure of a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ottla._internal.arguments import collection, number, text, topic_name
from ottla._internal.required_arguments import required
from ottla.errors import ConfigError, KafkaError, RecordTooLargeError, SerializationError

__all__ = ["Action", "RetryPolicy", "actions"]

Action = Literal["retry", "dead_letter", "stop"]

_ACTIONS: dict[type[BaseException], Action] = {
    Exception: "retry",
    # These are of the record: another attempt would end in the same way.
    SerializationError: "dead_letter",
    RecordTooLargeError: "dead_letter",
    # These are of the cluster and of the machine: the next record would fail as well.
    KafkaError: "stop",
    MemoryError: "stop",
}


def actions(
    retry_on: Iterable[type[Exception]],
    dead_letter_on: Iterable[type[Exception]],
    stop_on: Iterable[type[Exception]],
) -> dict[type[BaseException], Action]:
    """Return what follows from each class of exceptions.

    Raises:
        ConfigError: a class is in two arguments, or is no class of exceptions.
    """
    found: dict[type[BaseException], Action] = {}
    given: dict[str, tuple[Action, Iterable[type[Exception]]]] = {
        "retry_on": ("retry", retry_on),
        "dead_letter_on": ("dead_letter", dead_letter_on),
        "stop_on": ("stop", stop_on),
    }
    for name, (action, classes) in given.items():
        for each in collection(
            name, required(name, classes, "a list, such as [ValueError]"), "[ValueError]"
        ):
            known: object = each
            if not (isinstance(known, type) and issubclass(known, Exception)):
                raise ConfigError(f"{name} has {each!r}: expected a subclass of Exception")
            if each in found:
                raise ConfigError(f"{name}: {each.__name__} is in two arguments; choose one")
            found[each] = action
    return {**_ACTIONS, **found}


@dataclass(frozen=True)
class RetryPolicy:
    """The topics of records that failed, and the delays in seconds."""

    delays: Sequence[float]
    retry_topic: str
    dead_letter_topic: str
    group: str
    is_in_place: bool
    actions: dict[type[BaseException], Action]

    def action(self, error: Exception) -> Action:
        """Return what follows from an exception of a handler."""
        return next(self.actions[each] for each in type(error).__mro__ if each in self.actions)

    def is_retried(self, error: Exception, attempts: int) -> bool:
        """Return whether a record that failed this often is to be handled once more."""
        return self.action(error) == "retry" and attempts <= len(self.delays)

    def retry_topics(self, topic: str) -> list[str]:
        """Return the retry topics of a topic, by attempt; none if records wait in place."""
        if self.is_in_place:
            return []
        return [self._named(self.retry_topic, topic, delay_name(delay)) for delay in self.delays]

    def dead_letters(self, topic: str) -> str:
        """Return the topic of a topic's dead letters."""
        return self._named(self.dead_letter_topic, topic, "")

    def _named(self, template: str, topic: str, delay: str) -> str:
        names = {"{topic}": topic, "{delay}": delay, "{group}": self.group}
        for placeholder, name in names.items():
            template = template.replace(placeholder, name)
        return template

    def check(self, topics: Sequence[str]) -> None:
        """Check delays and names.

        Raises:
            ConfigError: a delay is negative, a name is not one of a topic, or two topics have the
                same one.
        """
        for index, delay in enumerate(self.delays):
            if not 0 <= number(f"retry_delays[{index}]", delay, "seconds, such as 60") < 1e9:
                raise ConfigError(f"retry_delays[{index}] is {delay}: expected seconds from 0 on")
        text("retry_topic", self.retry_topic)
        text("dead_letter_topic", self.dead_letter_topic)
        for topic in topics:
            topic_name("topics", topic)
            topic_name("dead_letter_topic", self.dead_letters(topic))
            for retry in self.retry_topics(topic):
                topic_name("retry_topic", retry)
        named: dict[str, str] = {}
        all_letters = {self.dead_letters(topic) for topic in topics}
        for topic in topics:
            letters = self.dead_letters(topic)
            if letters in topics:
                message = f"{letters} is read, and cannot be the topic of dead letters as well"
                raise ConfigError(f"dead_letter_topic: {message}")
            for retry in self.retry_topics(topic):
                if retry in topics or retry in all_letters or retry in named:
                    message = f"{retry} would have two purposes; use {{topic}} and {{delay}}"
                    raise ConfigError(f"retry_topic: {message}")
                named[retry] = topic


def delay_name(seconds: float) -> str:
    """Return a delay as a part of a topic's name: ``30s``, ``1m``, ``10m``, ``2h``, ``1d``."""
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        if seconds >= size and seconds % size == 0:
            return f"{int(seconds / size)}{unit}"
    return f"{round(seconds * 1000)}ms"
