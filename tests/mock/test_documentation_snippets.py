"""Every snippet of README.md and the documentation runs as it is printed, on the mock cluster.

A snippet of Python is a program of its own, in a process of its own. The table says what differs
from snippet to snippet: the records that wait for it, what it prints, and for one that waits for
ever, what it prints before the test presses Ctrl-C. Those of Spark run in tests/spark, with the one
session there, those of frameworks in tests/frameworks, in environments of their own, and the steps
of the tutorial in test_tutorial.py.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import ottla
from ottla.admin import ConfigResource
from ottla.testing import MockCluster, MockRegistry
from tests.security.certificates import Authority
from tests.support.jars import REPOSITORY
from tests.support.payments import create_payments
from tests.support.snippets import LANGUAGES, Snippet, snippets

PYTHON = [
    snippet
    for snippet in snippets("python")
    if not snippet.of_framework and not snippet.of_tutorial
]

_RUN = """
import functools, runpy, signal, sys
import ottla
# What runs in the background has it ignored, and hands that down.
signal.signal(signal.SIGINT, signal.default_int_handler)
if sys.argv[2] == "construct":
    ottla.Client = functools.partial(ottla.Client, connect=False)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def _move_leader(cluster: MockCluster, step: int) -> None:
    cluster.move_leader("orders", 0, 1 + step % 3)


@dataclass(frozen=True)
class Expected:
    """What a snippet needs and what it does.

    Attributes:
        prints: a regular expression for a part of the output.
        endless: whether it runs until Ctrl-C, which is pressed once it has printed that.
        values: the records of the topic ``orders`` when it starts.
        nudge: called with a step again and again until it has printed that.
        connects: whether it talks to the cluster; otherwise its clients are made, with all checks
            of their configuration and files, and do not connect: the mock has no TLS or Kerberos.
        share_group: whether the share group of the pages begins at the first record.
        malformed: whether the topic ``payments`` has a value that cannot be decoded, too.
    """

    prints: str = ""
    endless: bool = False
    values: tuple[bytes, ...] = (b"one", b"two", b"three")
    nudge: Callable[[MockCluster, int], None] | None = None
    connects: bool = True
    share_group: bool = False
    malformed: bool = False


EXPECTED = {
    ("README.md", 0): Expected(r"^b'customer-1' b'first order' 0 0$"),
    ("docs/compare/aiokafka.md", 0): Expected("^0 3$"),
    ("docs/compare/confluent-kafka.md", 0): Expected(r"None b'three'\n\['orders'\] 1"),
    ("docs/compare/index.md", 0): Expected(
        '"batch.num.messages", which is librdkafka\'s: use batch.size'
    ),
    ("docs/compare/kafka-python.md", 0): Expected("^3$"),
    ("docs/fix/doctor.md", 0): Expected(r"^True 0\n(?s:.*)verdict"),
    ("docs/guides/arrow.md", 0): Expected(r"^3\n3$"),
    ("docs/guides/arrow.md", 1): Expected("^3$"),
    ("docs/guides/arrow.md", 2): Expected(r"\(0, 3\)"),
    ("docs/guides/arrow.md", 3): Expected("^3$"),
    ("docs/guides/asyncio.md", 0): Expected("None b'three'", endless=True),
    ("docs/guides/asyncio.md", 1): Expected("^3$"),
    ("docs/guides/asyncio.md", 2): Expected("^3$"),
    ("docs/guides/asyncio.md", 3): Expected("^3$"),
    ("docs/guides/asyncio.md", 4): Expected("leader of orders-0", endless=True, nudge=_move_leader),
    ("docs/guides/consume.md", 0): Expected("None b'three'", endless=True),
    ("docs/guides/consume.md", 1): Expected("^3$"),
    ("docs/guides/consume.md", 2): Expected(
        r"0 {'amount': 3}\n2 {'amount': 4}",
        endless=True,
        values=(b'{"amount": 3}', b"not JSON", b'{"amount": 4}'),
    ),
    ("docs/guides/consume.md", 3): Expected(r"None {\('orders', 0\): OffsetAndMetadata\(offset=3"),
    ("docs/guides/frames.md", 0): Expected("^3\n2$"),
    ("docs/guides/frames.md", 1): Expected(r"shape: \(2, 1\)(?s:.*)┆? 1.02 "),
    ("docs/guides/frames.md", 2): Expected(r"^\[\(0, 3\)\]\n\[\(b'two',\)\]$"),
    ("docs/guides/frames.md", 3): Expected(r"^3 int64\[pyarrow\]$"),
    ("docs/guides/failing-records.md", 0): Expected(r"^\[b'one', b'three', b'two'\] 2.0$"),
    ("docs/guides/failing-records.md", 1): Expected("^2$"),
    ("docs/guides/failing-records.md", 2): Expected(r"^\[b'one', b'two', b'three'\]$"),
    ("docs/guides/gateway.md", 1): Expected("^0 1$"),
    ("docs/guides/groups.md", 0): Expected(
        r"assigned \[\('orders', 0\)\]\n(?s:.*)None b'three'", endless=True
    ),
    ("docs/guides/groups.md", 1): Expected(r"^\[\('orders', 0\)\]$"),
    ("docs/guides/objects.md", 0): Expected(r"^7 1\.25 None$"),
    ("docs/guides/objects.md", 1): Expected(
        r"^id=7 tags=\['new'\]\ntags\[0\] the value .*: tags\[0\]: Input should .*, not int 5$"
    ),
    ("docs/guides/objects.md", 2): Expected("^7$", connects=False),
    ("docs/guides/observability.md", 0): Expected(r"\d b'(?s:.*)\"name\": \"process orders\""),
    ("docs/guides/observability.md", 1): Expected("^3.0$"),
    ("docs/guides/observability.md", 2): Expected(
        r'^kafka_producer_record_send_total{client_id="orders-writer"} 1.0$'
    ),
    ("docs/guides/observability.md", 3): Expected(
        r"^\[b'one', b'three'\]\ncommitted {\('orders', 0\): OffsetAndMetadata\(offset=3"
    ),
    ("docs/guides/performance.md", 0): Expected(
        "^records-per-request-avg [1-9](?s:.*)^sent again 0.0$"
    ),
    ("docs/guides/produce.md", 0): Expected("^3$"),
    ("docs/guides/produce.md", 2): Expected(r"RecordMetadata\(.*\) None"),
    ("docs/guides/produce.md", 3): Expected("^3 2 2$"),
    **{("docs/guides/providers.md", number): Expected(connects=False) for number in range(1, 12)},
    ("docs/guides/schemas.md", 0): Expected(r"shape: \(3, 3\)(?s:.*)┆ 1.02 "),
    ("docs/guides/schemas.md", 1): Expected(
        r"^\[{'id': 1, 'amount': Decimal\('1.00'\), 'customer': {'name': 'Ada'}}, "
    ),
    ("docs/guides/schemas.md", 3): Expected("^0 Ada 1.00\n1 Bob 1.01\n2 Eve 1.02", endless=True),
    ("docs/guides/schemas.md", 4): Expected("^0 Ada\n1 Bob\n2 Eve", endless=True),
    ("docs/guides/schemas.md", 5): Expected(
        r"^\[\(1, {'name': 'Ada'}\), \(2, {'name': 'Bob'}\), \(3, {'name': 'Eve'}\)\]$"
    ),
    ("docs/guides/schemas.md", 6): Expected(
        "^0 {'id': 1} None\n1 None value: the value begins with byte 0x6e, .*\n2 {'id': 2} None$",
        malformed=True,
    ),
    ("docs/guides/schemas.md", 7): Expected(
        "^3\nb'not a payment' {.*'__ottla.errors.offset': b'1'}$", malformed=True
    ),
    ("docs/guides/schemas.md", 8): Expected(connects=False),
    ("docs/guides/schemas.md", 9): Expected(r"^\['payments-value'\] 1 1\n2$"),
    ("docs/guides/schemas.md", 10): Expected(
        r"^id: int64 not null(?s:.*)^{'id': 7, 'items': \[{'name': 'pen', 'price': None}\], "
    ),
    ("docs/guides/schemas.md", 11): Expected(
        r"^\[\(7, datetime.datetime\(2026, 11, 25, 11, .*\), Decimal\('9.95'\)\)\]$",
        values=(b'{"id": 7, "at": "2026-11-25T12:00:00+01:00", "price": 9.95}',),
    ),
    ("docs/guides/schemas.md", 12): Expected(
        r"^id: int64\n(?s:.*)^\[7, 8\]$",
        values=(b'{"id": 7, "item": "pen"}', b'{"id": 8, "price": 2}'),
    ),
    ("docs/guides/schemas.md", 13): Expected(
        r"^\[{'id': 1, 'reason': 'broken'}, {'id': 2, 'reason': None}, {'id': 3, 'reason': None}\]$"
    ),
    ("docs/guides/schemas.md", 14): Expected("^order 7\npayment 12$"),
    ("docs/guides/schemas.md", 16): Expected('^"long"$'),
    **{("docs/guides/security.md", number): Expected(connects=False) for number in range(14)},
    ("docs/guides/share-groups.md", 0): Expected("^1 b'three'", endless=True, share_group=True),
    ("docs/guides/share-groups.md", 1): Expected(
        "ship 3\nship 4",
        endless=True,
        values=(b'{"amount": 3}', b"not JSON", b'{"amount": 4}'),
        share_group=True,
    ),
    ("docs/guides/share-groups.md", 2): Expected(
        r"(^shipped b'(one|two|three)' 1\n){3}", endless=True, share_group=True
    ),
    ("docs/guides/share-groups.md", 3): Expected(r"(^shipped b'.*'\n){3}", share_group=True),
    ("docs/guides/share-groups.md", 4): Expected(
        r"^\['value', 'offset', 'deliveryCount'\] 3 \[1, 1, 1\]$", share_group=True
    ),
    ("docs/guides/share-groups.md", 5): Expected(
        r"^callback None {\('orders', 0\): \[\(0, 2\)\]}\n3 {\('orders', 0\): None}$",
        share_group=True,
    ),
    ("docs/guides/share-groups.md", 6): Expected("^10$"),
    ("docs/guides/stand-in.md", 0): Expected(
        r"certificate(?s:.*)^WARNING:ottla.compat:.* no effect: batch.num.messages$"
    ),
    ("docs/guides/stand-in.md", 1): Expected('"batch.num.messages", which is librdkafka\'s'),
    ("docs/guides/stand-in.md", 2): Expected(
        r"^orders 3\n0 b'one'\n0 b'two'\n0 b'three'\n0 b'...'$",
    ),
    ("docs/guides/stand-in.md", 3): Expected(r"ottla.compat.kafka.__init__\.py$"),
    ("docs/guides/stand-in.md", 4): Expected(
        r"^written 3\nb'one'\nb'two'\nb'three'\nb'...'$",
    ),
    ("docs/guides/stand-in.md", 5): Expected(
        r"^written 3\nb'one'\nb'two'\nb'three'\nb'...'$",
    ),
    ("docs/guides/stand-in.md", 6): Expected(
        r"^written 3\nb'one'\nb'two'\nb'three'\nb'...'$",
    ),
    ("docs/guides/stand-in.md", 7): Expected(
        r"^written 3\nb'one'\nb'two'\nb'three'\nb'...'$",
    ),
    ("docs/guides/stand-in.md", 8): Expected(
        r"^orders 3\n0 b'one'\n0 b'two'\n0 b'three'\n0 b'...'$",
    ),
    ("docs/guides/stand-in.md", 9): Expected(r"shape: \(3, 7\)"),
    ("docs/index.md", 0): Expected(r"^b'customer-1' b'first order' 0 0$"),
    ("docs/start.md", 0): Expected(r"^[012] 0 b'order 0'\n[012] 1 b'order 1'\n[012] 2 b'order 2'$"),
    ("docs/start.md", 1): Expected("shape: \\(3, 4\\)"),
    ("docs/understand/cluster.md", 0): Expected(r"^0 is led by broker \d$"),
    ("docs/understand/connections.md", 0): Expected("^ConnectionStatus"),
}

PASSWORD = "secret"


def rsa_key() -> str:
    """A private key in PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, plain).decode()


def secrets(directory: Path) -> dict[str, str]:
    """Write the files that the pages name, and return the environment that they take."""
    authority = Authority("of the snippets")
    client = authority.issue("billing", client=True)
    files = {
        "etc/kafka/ca.pem": authority.certificate,
        "etc/kafka/client.pem": client.key(PASSWORD) + client.certificate,
        "etc/kafka/billing.pem": rsa_key(),
        "etc/keytabs/billing.keytab": "",
        "var/run/secrets/kafka/token": "a token",
        # As the page prints it.
        "sidecar_token.py": next(s.text for s in PYTHON if "/kafka-token" in s.text),
        # Of ottla[aws], which is large: a client that does not connect needs only that it is there.
        "botocore/__init__.py": "",
    }
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    stores = REPOSITORY / "rust/client/tests/pkcs12"
    for name, store in (("keystore.p12", "keytool.p12"), ("truststore.p12", "keytool-trust.p12")):
        shutil.copy(stores / store, directory / "etc/kafka" / name)
    words = ["KAFKA_KEY_PASSWORD", "KAFKA_PASSWORD", "KAFKA_CLIENT_SECRET", "PROXY_PASSWORD"]
    words += ["KAFKA_TOKEN_ID", "KAFKA_TOKEN_HMAC", "REGISTRY_PASSWORD"]
    allowed = {"OTTLA_TOKEN_PROVIDERS": "sidecar_token:token,gcp-managed-kafka"}
    allowed["STORE_PASSWORD"] = "hunter2"
    return {"KAFKA_CA_PEM": authority.certificate, **allowed, **dict.fromkeys(words, PASSWORD)}


class Program:
    """A snippet that runs; its output is read as it comes."""

    def __init__(self, command: list[str], directory: Path, environment: Mapping[str, str]) -> None:
        self.output = ""
        self._grown = threading.Condition()
        self._ended = False
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-u", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env={**os.environ, **environment},
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            for line in self.process.stdout:
                with self._grown:
                    self.output += line
                    self._grown.notify_all()
        with self._grown:
            self._ended = True
            self._grown.notify_all()

    def printed(self, pattern: str, timeout: float) -> bool:
        """Wait until the output has a pattern; False if it has not in time, or by its end."""
        found = re.compile(pattern, re.MULTILINE)

        def settled() -> bool:
            return self._ended or found.search(self.output) is not None

        with self._grown:
            self._grown.wait_for(settled, timeout)
            return found.search(self.output) is not None

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def end(self, timeout: float = 60) -> int:
        """Wait for its end, and return the exit code."""
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        return code

    def kill(self) -> None:
        """End it if it runs."""
        self.process.kill()
        self.end()


def prepare(cluster: MockCluster, expected: Expected) -> None:
    """Make the topic of the pages; the groups of the pages have read nothing of it yet."""
    cluster.create_topic("orders", partitions=1)
    cluster.append("orders", 0, list(expected.values))
    cluster.commit("billing", "orders", 0, 0)
    if expected.share_group:
        with ottla.Admin(cluster.bootstrap) as admin:
            group = ConfigResource("group", "shipping")
            admin.alter_configs({group: {"share.auto.offset.reset": "earliest"}})


def run(
    snippet: Snippet, expected: Expected, cluster: MockCluster, directory: Path
) -> tuple[int, str]:
    """Run a snippet to its end, or until it has printed what is expected and Ctrl-C is pressed."""
    prepare(cluster, expected)
    with MockRegistry() as registry:
        if "payments" in snippet.text:
            create_payments(cluster, registry, malformed=expected.malformed)
        path = directory / "test_snippet.py"
        text = snippet.text_for(cluster.bootstrap, directory, registry.url)
        path.write_text(text, encoding="utf-8")
        return run_file(path, snippet, expected, cluster, directory)


def run_file(
    path: Path, snippet: Snippet, expected: Expected, cluster: MockCluster, directory: Path
) -> tuple[int, str]:
    """Run the file of a snippet."""
    if re.search(r"^def test_", snippet.text, re.MULTILINE):
        command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", str(path)]
    else:
        command = ["-c", _RUN, str(path), "run" if expected.connects else "construct"]
    program = Program(command, directory, {} if expected.connects else secrets(directory))
    try:
        if expected.endless:
            for step in range(600):
                if program.printed(expected.prints, timeout=0.2) or not program.running:
                    break
                if expected.nudge is not None:
                    expected.nudge(cluster, step)
            program.process.send_signal(signal.SIGINT)
        return program.end(), program.output
    finally:
        program.kill()


@pytest.mark.parametrize("snippet", [s for s in PYTHON if not s.uses_spark], ids=lambda s: s.id)
def test_a_snippet_runs_as_printed(
    snippet: Snippet, mock_cluster: MockCluster, tmp_path: Path
) -> None:
    expected = EXPECTED.get(snippet.key, Expected())
    code, output = run(snippet, expected, mock_cluster, tmp_path)
    assert re.search(expected.prints, output, re.MULTILINE), output
    if expected.endless:
        assert code in (-signal.SIGINT, 128 + signal.SIGINT), output
        assert output.rstrip().endswith("KeyboardInterrupt"), output
    else:
        assert code == 0, output
    assert "Traceback" not in output or expected.endless, output


def test_the_fixture_of_the_readme_is_run_by_pytest() -> None:
    assert any("def test_" in snippet.text for snippet in PYTHON)


def test_nothing_is_left_out() -> None:
    """Each block says what it is, and each row of the table is about a snippet that is there."""
    unknown = [f"{s.page}:{s.line}" for s in snippets() if s.language not in LANGUAGES]
    assert not unknown, f"blocks of other kinds than {sorted(LANGUAGES)}: {unknown}"
    on_the_mock = {snippet.key for snippet in PYTHON if not snippet.uses_spark}
    assert set(EXPECTED) <= on_the_mock
    secured = [s for s in PYTHON if not EXPECTED.get(s.key, Expected()).connects]
    pages = {f"docs/guides/{name}.md" for name in ("objects", "providers", "schemas", "security")}
    assert {snippet.page for snippet in secured} == pages
    assert len(PYTHON) >= 25


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import ottla\nottla.Producer('kafka:9092', lingerms=3)\n", "lingerms"),
        ("import ottla\nottla.Consumr\n", "Consumr"),
        ("raise SystemExit(3)\n", ""),
    ],
)
def test_a_wrong_snippet_fails(
    text: str, says: str, mock_cluster: MockCluster, tmp_path: Path
) -> None:
    snippet = Snippet("README.md", "python", 99, 7, text)
    code, output = run(snippet, Expected(), mock_cluster, tmp_path)
    assert code != 0
    assert says in output
