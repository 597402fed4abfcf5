"""librdkafka's configuration as it is, translated for ottla.

Invariants: what librdkafka refuses is refused with ``_INVALID_ARG``; a key is either translated,
given to ottla, which knows most of librdkafka's names, or accepted with one warning; no message
contains the value of a key that may be secret.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any

from ottla import errors
from ottla._core import Client
from ottla.compat.confluent_kafka import _config_keys as keys
from ottla.compat.confluent_kafka._errors import kafka_exception, raise_invalid
from ottla.compat.confluent_kafka._oauth import token_source
from ottla.compat.confluent_kafka._settings import Kind, Settings

# ottla needs an address. A client without brokers has this one, and never connects.
NOWHERE = "127.0.0.1:1"

# Bytes of headers and of the form of records in a full queue.
_OVERHEAD = 64 << 20

_LOG = logging.getLogger("ottla.compat")
_TRUE = {"true", "t", "1"}
_FALSE = {"false", "f", "0"}
# Keys of the layer's callbacks, and the error for a value that is not callable.
_CALLBACKS = {"error_cb": TypeError, "stats_cb": TypeError, "throttle_cb": ValueError}
_CALLBACKS_OF: dict[str, Kind] = {"on_delivery": "producer", "on_commit": "consumer"}


def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration in the arguments of a constructor: a dict, keywords, or both."""
    if len(args) > 1:
        raise TypeError("expected tuple containing single dict")
    if args and not isinstance(args[0], Mapping):
        raise TypeError("expected configuration dict")
    if not args and not kwargs:
        raise TypeError("expected configuration dict")
    return {**(args[0] if args else {}), **kwargs}


def settings_of(config: Mapping[str, Any], kind: Kind) -> Settings:
    """Translate a configuration.

    Args:
        config: librdkafka's configuration, with confluent-kafka's callbacks in it.
        kind: what the client is.

    Raises:
        KafkaException: with ``_INVALID_ARG``, for an unknown key or an invalid value.
        TypeError: a callback is not callable.
    """
    pending = dict(config)
    settings = Settings(kind)
    _take_callbacks(pending, settings)
    topic_config = pending.pop("default.topic.config", None) or {}
    pending.update({name: topic_config[name] for name in topic_config.keys()})  # noqa: SIM118 - the peer's error for other types
    oauth_cb = pending.pop("oauth_cb", None)
    if oauth_cb is not None and not callable(oauth_cb):
        raise TypeError("expected oauth_cb property as a callable function")
    values = _known_values(pending)
    own = {name: values.pop(name, default) for name, default in keys.OWN.items()}
    settings.ottla = _for_ottla(values, settings)
    _apply_own(own, settings)
    if kind == "producer":
        _fit_timeouts(settings, lingers="linger.ms" in {keys.row_of(name) for name in values})
    if kind in ("consumer", "share consumer"):
        _check_group(settings)
    token = token_source(own, oauth_cb)
    if token is not None:
        settings.ottla["sasl_oauth_token"] = token
    settings.ottla = {n: v for n, v in settings.ottla.items() if v is not None}
    return settings


def client_of(settings: Settings) -> Client:
    """Return the ottla client of these settings; it connects at its first use."""
    configuration = dict(settings.ottla)
    token = configuration.pop("sasl_oauth_token", None)
    try:
        if token is None:
            return Client(configuration, connect=False)
        return Client(configuration, connect=False, sasl_oauth_token=token)
    except errors.ConfigError as error:
        raise kafka_exception(error) from error


def _take_callbacks(pending: dict[str, Any], settings: Settings) -> None:
    for name, kind in _CALLBACKS.items():
        if name in pending:
            callback = pending.pop(name)
            if not callable(callback):
                raise kind(f"expected {name} property as a callable function")
            setattr(settings, name, callback)
    for name, owner in _CALLBACKS_OF.items():
        if name in pending and settings.kind == owner:
            callback = pending.pop(name)
            if callback is not None and not callable(callback):
                raise_invalid(f"{name} requires a callable object")
            setattr(settings, name, callback)
    settings.logger = pending.pop("logger", None)


def _known_values(pending: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of known keys, without those that have no effect."""
    values: dict[str, Any] = {}
    ignored = []
    for name, value in pending.items():
        if not keys.is_known(str(name)):
            raise_invalid(f'No such configuration property: "{name}"')
        if name in keys.IN_C_ONLY:
            raise_invalid(f'Property "{name}" is a callback of librdkafka in C')
        if name in keys.WITHOUT_EFFECT:
            ignored.append(name)
        else:
            values[name] = value
    if ignored:
        _LOG.warning("these settings of librdkafka have no effect: %s", ", ".join(sorted(ignored)))
    return values


def _boolean(name: str, value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in _TRUE | _FALSE:
        raise_invalid(f'Expected bool value for "{name}": true or false')
    return text in _TRUE


def _number(name: str, value: Any) -> int:
    try:
        return math.ceil(float(str(value).strip()))
    except (ValueError, OverflowError):
        raise_invalid(f'Invalid value for configuration property "{name}"')


def _for_ottla(values: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the configuration for ottla, whose core checks and converts the values."""
    types = keys.ottla_types()
    found: dict[str, Any] = {}
    for name, value in values.items():
        row = keys.row_of(name)
        if types.get(row) == "bool" and value is not None:
            found[name] = _boolean(name, value)
        elif row == "linger.ms" and value is not None:
            found[name] = _number(name, value)
        else:
            found[name] = value if isinstance(value, (str, int)) or value is None else str(value)
    _bootstrap(found, settings)
    _metadata_age(found)
    _request_timeout(found)
    _security(found)
    _partitioner(found)
    if found.get("compression.type") == "inherit":
        del found["compression.type"]
    kbytes = found.pop("queue.buffering.max.kbytes", None)
    if kbytes is not None:
        settings.queue_max_bytes = _number("queue.buffering.max.kbytes", kbytes) * 1024
    present = {keys.row_of(name) for name in found}
    protocol = str(found.get("group.protocol", "classic")).lower()
    for name, default in keys.DEFAULTS.items():
        by_brokers = name == "partition.assignment.strategy" and protocol == "consumer"
        if name not in present and not by_brokers:
            found[name] = default
    # What messages take in ottla's buffer beyond keys and values must not make `produce` wait.
    found.setdefault("buffer.memory", settings.queue_max_bytes + _OVERHEAD)
    return found


def _bootstrap(found: dict[str, Any], settings: Settings) -> None:
    """Bring the addresses of the brokers into ottla's form: hosts may lack a port."""
    given = [found.pop(name, None) for name in ("metadata.broker.list", "bootstrap.servers")]
    text = next((value for value in reversed(given) if value), "")
    servers = []
    for part in str(text).strip("[]'\" ").replace("'", "").replace('"', "").split(","):
        address = part.strip().rpartition("://")[2]
        if address:
            host, _, port = address.rpartition(":")
            has_port = bool(host) and port.isdigit() and not host.endswith(":")
            servers.append(address if has_port else f"{address}:9092")
    settings.has_brokers = bool(servers)
    found["bootstrap.servers"] = ",".join(servers) or NOWHERE


def _metadata_age(found: dict[str, Any]) -> None:
    """librdkafka has two keys: one for how often it asks, one for how long it believes."""
    interval = "topic.metadata.refresh.interval.ms"
    if interval in found:
        found.pop("metadata.max.age.ms", None)
    elif "metadata.max.age.ms" in found:
        age = _number("metadata.max.age.ms", found["metadata.max.age.ms"])
        found["metadata.max.age.ms"] = min(age, 300_000)


def _request_timeout(found: dict[str, Any]) -> None:
    """librdkafka's ``request.timeout.ms`` is the brokers' time, ``socket.timeout.ms`` its own."""
    if "socket.timeout.ms" in found:
        found.pop("request.timeout.ms", None)


def _security(found: dict[str, Any]) -> None:
    if found.get("ssl.ca.location") == "probe":
        del found["ssl.ca.location"]
    for theirs, ours in (("https.ca.location", "location"), ("https.ca.pem", "certificates")):
        if theirs in found:
            row = f"sasl.oauthbearer.token.endpoint.ssl.truststore.{ours}"
            found[row] = found.pop(theirs)


def _partitioner(found: dict[str, Any]) -> None:
    name = found.get("partitioner")
    if name in ("fnv1a", "fnv1a_random"):
        return  # ottla refuses it, and lists what there is
    if name is not None and name not in _PARTITIONERS:
        raise_invalid(f'Invalid value for configuration property "partitioner": {name}')


_PARTITIONERS = {"random", "consistent", "consistent_random", "murmur2", "murmur2_random"}


def _apply_own(own: Mapping[str, Any], settings: Settings) -> None:
    def number(name: str) -> int:
        value = own[name]
        return _number(name, keys.OWN[name] if value is None else value)

    def boolean(name: str) -> bool:
        value = own[name]
        return _boolean(name, keys.OWN[name] if value is None else value)

    settings.debug = str(own["debug"] or "")
    settings.statistics_interval = number("statistics.interval.ms") / 1000
    settings.queue_max_messages = number("queue.buffering.max.messages")
    settings.topic_timeout = number("topic.metadata.propagation.max.ms") / 1000
    settings.report_only_errors = boolean("delivery.report.only.error")
    settings.auto_commit = boolean("enable.auto.commit")
    settings.auto_commit_interval = number("auto.commit.interval.ms") / 1000
    settings.auto_offset_store = boolean("enable.auto.offset.store")
    settings.partition_eof = boolean("enable.partition.eof")
    # The layer commits what the application has stored, which ottla does not know.
    settings.ottla["enable.auto.commit"] = False
    level = number("compression.level")
    codec = str(settings.ottla.get("compression.type") or settings.ottla.get("compression.codec"))
    if level != -1 and codec in ("gzip", "lz4", "zstd"):
        bounded = {"gzip": min(level, 9), "lz4": max(level, 1), "zstd": level}
        settings.ottla[f"compression.{codec}.level"] = bounded[codec]


def _value(settings: Settings, row: str, default: int) -> int:
    found = (v for n, v in settings.ottla.items() if keys.row_of(n) == row and v is not None)
    return _number(row, next(found, default))


def _set(settings: Settings, row: str, value: int) -> None:
    for name in [name for name in settings.ottla if keys.row_of(name) == row]:
        del settings.ottla[name]
    settings.ottla[row] = value


def _fit_timeouts(settings: Settings, *, lingers: bool) -> None:
    """Lower what ``message.timeout.ms`` must cover; in librdkafka it stands alone."""
    timeout = _value(settings, "delivery.timeout.ms", 300_000)
    settings.message_timeout = timeout / 1000 if timeout else None
    if not timeout:
        return
    linger = _value(settings, "linger.ms", 5)
    if lingers and linger >= timeout:
        raise_invalid("`message.timeout.ms` must be greater than `linger.ms`")
    linger = min(linger, max(timeout - 1, 0))
    request = _value(settings, "request.timeout.ms", 30_000)
    if linger + request > timeout:
        _set(settings, "linger.ms", linger)
        _set(settings, "request.timeout.ms", max(timeout - linger, 1))


def _check_group(settings: Settings) -> None:
    if settings.group_id is None:
        raise ValueError("Failed to create consumer: group.id must be set")
    interval = _value(settings, "max.poll.interval.ms", 300_000)
    settings.max_poll_interval = interval / 1000
    by_brokers = str(settings.ottla.get("group.protocol", "classic")).lower() == "consumer"
    if by_brokers or settings.kind == "share consumer":
        return  # the brokers decide on sessions and heartbeats
    session = _value(settings, "session.timeout.ms", 45_000)
    if session > interval:
        if "session.timeout.ms" in settings.ottla:
            raise_invalid("`max.poll.interval.ms` must be >= `session.timeout.ms`")
        session = interval
        _set(settings, "session.timeout.ms", interval)
    if _value(settings, "heartbeat.interval.ms", 3_000) >= session:
        _set(settings, "heartbeat.interval.ms", max(session // 3, 1))
