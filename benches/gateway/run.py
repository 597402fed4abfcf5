"""`ottla gateway`, kafka-proxy and no proxy, side by side, in front of three Kafka brokers.

    python -m benches.gateway.run [--kafka-proxy PROGRAM] [--gateway-binary [PROGRAM]]
        [--rounds 3] [--megabytes 500]

`--gateway-binary` adds the program without Python, `ottla-gateway`; without a path it is built.
kafka-proxy is github.com/grepplabs/kafka-proxy, which `go build` makes from its sources; without
--kafka-proxy it is left out. Reported are the rates of producing and fetching, the CPU seconds of
the proxy for each gigabyte, what the proxy adds to latencies, and its memory at 10 and 2,000
connections; in plaintext, and with TLS between client and proxy. Proxies take turns. Latencies are
those of the same call directly and through the proxy, one after the other.
With TLS there is no direct variant, since the brokers listen in plaintext.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import ottla
from benches.gateway import proxies
from benches.gateway.connections import open_connections
from benches.gateway.latency import Latency, Places
from benches.gateway.latency import measure as latencies
from benches.gateway.proxies import Certificates, Proxy
from benches.peers import runner
from tests.security.certificates import Authority
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

RESULTS = Path(".ottla-build/gateway/results.json")
TOPIC = "bench"
PARTITIONS = 3
VALUE = 1_000
BATCH = 5_000
CONNECTIONS = (10, 2_000)

Start = Callable[[Mapping[int, str], Certificates | None], AbstractContextManager[Proxy]]


@dataclass
class Result:
    """What was measured of a proxy, in each round."""

    proxy: str
    tls: bool
    produce_mb_s: list[float] = field(default_factory=list)
    fetch_mb_s: list[float] = field(default_factory=list)
    cpu_s_per_gb: list[float] = field(default_factory=list)
    resident_mb: list[float] = field(default_factory=list)
    kb_per_connection: list[float] = field(default_factory=list)
    # By kind of call, of each round.
    latency_us: dict[str, list[Latency]] = field(default_factory=dict)

    def median(self, name: str) -> float:
        """Return the median of a measurement; 0 if it has none."""
        values: list[float] = getattr(self, name)
        return statistics.median(values) if values else 0.0

    def added(self, call: str, percentile: str) -> float:
        """Return the median of what the proxy adds to a percentile of a call."""
        rounds = self.latency_us[call]
        added: list[float] = [
            getattr(each, percentile) - getattr(each, f"direct_{percentile}") for each in rounds
        ]
        return statistics.median(added)


def main() -> int:
    parser = runner.argument_parser(__doc__, RESULTS)
    parser.set_defaults(rounds=3)
    parser.add_argument("--megabytes", type=int, default=500, help="produced and read a round")
    parser.add_argument("--count", type=int, default=1_000, help="calls of a kind for latencies")
    parser.add_argument("--kafka-proxy", type=Path, help="the program of kafka-proxy")
    parser.add_argument(
        "--gateway-binary",
        nargs="?",
        const="",
        metavar="PROGRAM",
        help="measure the program ottla-gateway too; built if no path is given",
    )
    options = parser.parse_args()
    print(f"ottla: {proxies.build_of_ottla()}")
    starts: list[Start] = [proxies.direct, partial(proxies.gateway, None)]
    if options.gateway_binary is not None:
        program = options.gateway_binary or proxies.build_gateway()
        starts.append(partial(proxies.gateway, Path(program)))
    if options.kafka_proxy is not None:
        starts.append(partial(proxies.kafka_proxy, options.kafka_proxy))
    results: dict[tuple[str, bool], Result] = {}
    with tempfile.TemporaryDirectory() as directory, KafkaCluster(jvm=LONG_LIVED) as kafka:
        files = certificates(Path(directory))
        servers = {n: node.address for n, node in kafka.nodes.items()}
        for turn in range(options.rounds):
            for tls in (None, files):
                for start in runner.rotated(starts, turn):
                    if tls is not None and start is proxies.direct:
                        continue
                    kafka.create_topic(name := f"{TOPIC}-{time.time_ns()}", PARTITIONS, 3)
                    with start(servers, tls) as proxy:
                        key = proxy.name, tls is not None
                        result = results.setdefault(key, Result(*key))
                        measure(result, proxy, tls, name, servers[min(servers)], options)
                    kafka.delete_topic(name)
    print(table([*results.values()]))
    documents = [asdict(result) for result in results.values()]
    runner.save_json(options.json, {"build": proxies.build_of_ottla(), "results": documents})
    return 0


def certificates(directory: Path) -> Certificates:
    """Write a certificate for loopback."""
    authority = Authority("bench")
    server = authority.issue("proxy", ["127.0.0.1"])
    files = Certificates(*(directory / name for name in ("chain.pem", "key.pem", "ca.pem")))
    files.chain.write_text(server.certificate)
    files.key.write_text(server.key())
    files.authority.write_text(authority.certificate)
    return files


def measure(
    result: Result,
    proxy: Proxy,
    tls: Certificates | None,
    topic: str,
    direct: str,
    options: argparse.Namespace,
) -> None:
    """Measure a proxy once."""
    runner.log_progress(f"{proxy.name}{' with TLS' if tls else ''}")
    security = {}
    if tls is not None:
        security = {"security.protocol": "SSL", "ssl.truststore.location": str(tls.authority)}
    measure_throughput(result, proxy, security, topic, options.megabytes * 1_000_000 // VALUE)
    if proxy.pid is None:
        return
    places = Places(direct, proxy, tls, security, topic)
    for call, latency in latencies(places, options.count).items():
        result.latency_us.setdefault(call, []).append(latency)
    few, many = CONNECTIONS
    with ExitStack() as connections:
        open_connections(connections, proxy.bootstrap, tls, few)
        before = proxy.resident()
        open_connections(connections, proxy.bootstrap, tls, many - few)
        after = proxy.resident()
    result.resident_mb.append(before / 1e6)
    result.kb_per_connection.append((after - before) / (many - few) / 1024)


def measure_throughput(
    result: Result, proxy: Proxy, security: Mapping[str, str], topic: str, records: int
) -> None:
    """Produce records and read them back."""
    cpu, values = proxy.cpu_seconds(), [bytes(VALUE)] * BATCH
    config = {**security, "acks": "all", "linger.ms": 5, "batch.size": 200_000}
    megabytes = records * VALUE / 1e6
    with ottla.Producer(proxy.bootstrap, config) as producer:
        producer.send(topic, b"warm", partition=0).result(timeout=60)
        started = time.perf_counter()
        for first in range(0, records, BATCH):
            count = min(BATCH, records - first)
            spread = [n % PARTITIONS for n in range(count)]
            producer.send_batch(topic, values[:count], partitions=spread)
        producer.flush(timeout=600)
        result.produce_mb_s.append(megabytes / (time.perf_counter() - started))
    started = time.perf_counter()
    found = sum(batch.num_rows for batch in ottla.scan(topic, proxy.bootstrap, config=security))
    assert found >= records, (found, records)
    result.fetch_mb_s.append(megabytes / (time.perf_counter() - started))
    if proxy.pid is not None:
        gigabytes = 2 * megabytes / 1e3
        result.cpu_s_per_gb.append((proxy.cpu_seconds() - cpu) / gigabytes)


def table(results: list[Result]) -> str:
    """Return the tables in Markdown, of medians."""
    header = "proxy|TLS|produce MB/s|fetch MB/s|CPU s/GB|RSS at 10, MB|KiB a connection"
    lines = [f"|{header}|", "|---|---|---:|---:|---:|---:|---:|"]
    lines += [
        f"| {result.proxy} | {'yes' if result.tls else 'no'} "
        f"| {result.median('produce_mb_s'):,.0f} | {result.median('fetch_mb_s'):,.0f} "
        f"| {result.median('cpu_s_per_gb'):.2f} "
        f"| {result.median('resident_mb'):,.0f} | {result.median('kb_per_connection'):.1f} |"
        for result in results
    ]
    proxied = [result for result in results if result.latency_us]
    calls = list(proxied[0].latency_us)
    lines += ["", f"|added µs, p50/p99|TLS|{'|'.join(calls)}|", "|---|---|" + "---:|" * len(calls)]
    for result in proxied:
        added = [
            f"{result.added(call, 'p50'):,.0f}/{result.added(call, 'p99'):,.0f}" for call in calls
        ]
        tls = "yes" if result.tls else "no"
        lines.append(f"| {result.proxy} | {tls} | {' | '.join(added)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
