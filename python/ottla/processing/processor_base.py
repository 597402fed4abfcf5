"""What ``Processor`` and ``AsyncProcessor`` share: arguments, and the state between runs.

Invariant: a processor that does not run holds no connection.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ottla._internal.arguments import collection, integer
from ottla._internal.group_settings import (
    check_read_committed,
    commit_timeout,
    group_settings,
    seconds,
    transaction_id,
)
from ottla._internal.required_arguments import flag, function, required, topics_to_read
from ottla.errors import ConfigError, StateError
from ottla.processing.engine import Engine
from ottla.processing.handler_calls import HANDLER
from ottla.processing.observing import ProcessorChain
from ottla.processing.processing_metrics import NOTHING
from ottla.processing.retry_policy import RetryPolicy, actions
from ottla.processing.settings import Settings

if TYPE_CHECKING:
    from ottla._core.aliases import DeserializerLike
    from ottla.processing.observing import ProcessorInterceptor
    from ottla.processing.processing_metrics import ProcessingMetrics

__all__ = ["ProcessorBase"]

# The metrics that only a run has.
_NOW = {"records-waiting": 0.0, "partitions-blocked": 0.0, "retry-wait-time-seconds": 0.0}


class ProcessorBase:
    """The arguments and methods that both processors share; none of them waits."""

    _decoder: Callable[..., Any]
    # Whether what the handler returns is awaited.
    _awaits = False

    def __init__(
        self,
        handler: Callable[[Any], Any],
        topics: str | Sequence[str],
        bootstrap: str | Sequence[str] | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        batch: bool = False,
        retry_delays: Iterable[float] = (60, 600),
        retry_topic: str = "{topic}.retry.{delay}",
        dead_letter_topic: str = "{topic}.dead-letters",
        keep_order: bool = False,
        exactly_once: bool = False,
        retry_on: Iterable[type[Exception]] = (),
        dead_letter_on: Iterable[type[Exception]] = (),
        stop_on: Iterable[type[Exception]] = (),
        create_topics: bool = False,
        describe_error: Callable[[BaseException], str] = str,
        max_records: int = 500,
        key_deserializer: DeserializerLike[Any] | None = None,
        value_deserializer: DeserializerLike[Any] | None = None,
        interceptors: Iterable[ProcessorInterceptor] = (),
        **kwargs: Any,
    ) -> None:
        HANDLER.check(handler, awaits=self._awaits)
        batch, keep_order = flag("batch", batch), flag("keep_order", keep_order)
        exactly_once = flag("exactly_once", exactly_once)
        if batch and keep_order:
            raise ConfigError("keep_order needs a handler of single records: leave out batch=True")
        self._bootstrap = bootstrap
        self._config = _configuration(config, kwargs)
        if exactly_once:
            check_read_committed(self._config, "exactly_once")
        self._create_topics = flag("create_topics", create_topics)
        self._stop = threading.Event()
        self._producer: Any = None
        self._is_running = False
        # The metrics of the runs before, and the present run: one value, since any thread reads it.
        self._runs: tuple[ProcessingMetrics, Engine | None] = (NOTHING, None)
        chain = ProcessorChain(required("interceptors", interceptors, "a list"))
        delays = required("retry_delays", retry_delays, "seconds, such as [60, 600], or []")
        policy = RetryPolicy(
            collection("retry_delays", delays, "[60, 600]"),
            retry_topic,
            dead_letter_topic,
            self._config["group.id"],
            keep_order,
            actions(retry_on, dead_letter_on, stop_on),
        )
        read = topics_to_read(topics)
        policy.check(read)
        if integer("max_records", max_records) < 1:
            raise ConfigError(f"max_records is {max_records}: expected 1 or more")
        self._settings = Settings(
            handler=handler,
            topics=read,
            policy=policy,
            batch=batch,
            exactly_once=exactly_once,
            max_records=max_records,
            max_poll_interval=seconds(self._config, "max.poll.interval.ms", 300_000),
            decode=self._decoder(key_deserializer, value_deserializer),
            describe=function("describe_error", describe_error),
            commit_timeout=commit_timeout(self._config),
            observers=chain,
            stop=self._stop,
        )

        chain.call("configure", self._identity(), self.metrics)

    def _identity(self) -> dict[str, str]:
        """Return what interceptors learn of this processor."""
        servers = self._bootstrap or self._config.get("bootstrap.servers", "")
        return {
            "bootstrap.servers": servers if isinstance(servers, str) else ",".join(servers),
            "client.id": str(self._config.get("client.id", "ottla")),
            "group.id": str(self._config["group.id"]),
        }

    def stop(self) -> None:
        """End the run after the record or batch in hand; from any thread or signal handler.

        The run commits, leaves the group and returns. A processor that does not run yet returns at
        once from its next run.
        """
        self._stop.set()

    @property
    def attempt(self) -> int:
        """The number of the attempt in hand, from 1 on; the highest one of a batch; 0 before it."""
        _, engine = self._runs
        return engine.attempt if engine else 0

    def metrics(self) -> ProcessingMetrics:
        """Return what became of records, over all runs, without waiting.

        ``ottla.processing.ProcessingMetrics`` describes each.
        """
        past, engine = self._runs
        now: Any = engine.metrics() if engine else NOTHING
        totals: Any = {name: value + now[name] for name, value in dict[str, Any](past).items()}
        return totals  # type: ignore[no-any-return]

    def _running_producer(self) -> Any:
        if self._producer is None:
            raise StateError("the processor does not run: its producer exists while run() does")
        return self._producer

    def _begin(self) -> None:
        if self._is_running:
            raise StateError("the processor runs already; create another one")
        self._is_running = True

    def _measure(self, engine: Engine) -> None:
        past, _ = self._runs
        self._runs = (past, engine)

    def _end(self) -> None:
        past: Any = {**self.metrics(), **_NOW}
        self._runs = (past, None)
        self._producer = None
        self._is_running = False
        self._stop.clear()

    def _configs(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the configurations of the consumer and of the producer."""
        settings = dict(self._config)
        name = transaction_id(settings)
        producer = (
            {**settings, "transactional.id": name} if self._settings.exactly_once else settings
        )
        defaults = {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
        return {**defaults, **settings, "enable.auto.commit": False}, producer


def _configuration(config: Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> dict[str, Any]:
    settings = group_settings(config, keywords, "a processor commits what was handled itself")
    # Also under librdkafka's name, which producers understand.
    for name in ("acks", "request.required.acks"):
        if str(settings.get(name, "all")) not in {"all", "-1"}:
            raise ConfigError(
                f"{name}: a record that failed is lost unless all replicas have it: use all"
            )
    return settings
