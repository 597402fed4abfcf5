"""``close()`` works in a signal handler while the same thread waits in a call (C18).

The handler runs inside the call that it interrupts. That call makes progress meanwhile, so
``close`` may wait for it; and what it has not returned is not committed.
"""

from __future__ import annotations

import textwrap

import pytest

from tests.support.child import ChildResult, run_child

CLUSTER = """
cluster = MockCluster(brokers=1)
cluster.create_topic("t", partitions=1)
cluster.append("t", 0, [b"0", b"1", b"2", b"3"])
def terminate(seconds=0.3):
    # Ends the wait that the main thread begins now.
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM)).start()
def report():
    say("committed", cluster.committed("g"), "members", len(cluster.members("g")))
def handler(number, frame):
    this.close(timeout=20)
    say("closed")
    sys.exit(3)
signal.signal(signal.SIGTERM, handler)
import atexit
atexit.register(report)
"""

MEMBER = """
def member(**config):
    config = {"group_protocol": "PROTOCOL", "auto_offset_reset": "earliest"} | config
    return ottla.Consumer(cluster.bootstrap, group_id="g", topics=["t"], **config)
def read(count):
    seen = []
    while len(seen) < count:
        seen += this.poll(timeout=0.1, max_records=count - len(seen))
"""

READS = {
    "poll": "this = member()\nread(4)\nterminate()\nwhile True: this.poll(timeout=60)",
    "poll that retries": (
        "this = member()\nread(4)\nterminate()\n"
        "while True:\n    try: this.poll(timeout=60)\n"
        "    except Exception as error: say(repr(error))"
    ),
    "iterate": ("this = member()\nfor record in this:\n    if record.offset == 3: terminate()"),
    "poll_arrow": (
        "this = member()\nrows = 0\nwhile rows < 4:\n"
        "    batch = this.poll_arrow(timeout=0.1)\n"
        "    rows += 0 if batch is None else batch.num_rows\n"
        "terminate()\nwhile True: this.poll_arrow(timeout=60)"
    ),
}


def run(program: str, protocol: str = "classic") -> ChildResult:
    setup = CLUSTER + MEMBER.replace("PROTOCOL", protocol)
    return run_child(setup + textwrap.dedent(program))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("read", READS)
def test_a_handler_closes_the_consumer_that_its_thread_polls(read: str, protocol: str) -> None:
    child = run(READS[read], protocol)
    assert child.output == "closed\ncommitted {('t', 0): 4} members 0\n"
    assert child.code == 3


def test_a_poll_ends_after_a_handler_that_returns() -> None:
    child = run(
        """
        signal.signal(signal.SIGTERM, lambda *_: this.close(timeout=20))
        this = member()
        read(4)
        terminate()
        try:
            while True: this.poll(timeout=60)
        except ottla.errors.ClosedError as error:
            say(error)
        """
    )
    assert child.output == (
        "this consumer was closed while it was polled\ncommitted {('t', 0): 4} members 0\n"
    )
    assert child.code == 0


HOOKS = {
    "deserializer of poll": (
        "this = member(value_deserializer=hook)\nread(2)\nwhile True: this.poll(timeout=60)"
    ),
    "deserializer of an iteration": (
        "this = member(value_deserializer=hook)\nfor record in this: pass"
    ),
    "interceptor of poll": (
        "this = member(interceptors=[Hooked()])\nread(2)\nwhile True: this.poll(timeout=60)"
    ),
    "interceptor of an iteration": (
        "this = member(interceptors=[Hooked()])\nfor record in this: pass"
    ),
    "interceptor of poll_arrow": (
        "this = member(interceptors=[Hooked()])\n"
        "while True: this.poll_arrow(timeout=60, max_rows=2)"
    ),
}


@pytest.mark.parametrize("raises", [True, False])
@pytest.mark.parametrize("hook", HOOKS)
def test_what_an_interrupted_call_did_not_return_is_not_committed(hook: str, raises: bool) -> None:
    # The signal arrives while the third record is converted: Python runs the handler there.
    program = """
    def hook(value):
        if value == b"2": os.kill(os.getpid(), signal.SIGTERM)
        return value
    class Hooked(ottla.interceptors.ConsumerInterceptor):
        def on_consume(self, records):
            for record in records: hook(record.value)
            return records
        def on_consume_arrow(self, batch):
            for row in batch.rows(): hook(row[1])
    """
    quiet = "signal.signal(signal.SIGTERM, lambda *_: (this.close(timeout=20), say('closed')))\n"
    child = run(
        "import ottla.interceptors\n"
        + textwrap.dedent(program)
        + quiet * (not raises)
        + HOOKS[hook]
    )
    assert "closed\n" in child.output
    assert "committed {('t', 0): 2} members 0\n" in child.output
    assert child.code == (3 if raises else 1)
    assert raises or "ClosedError: this consumer was closed while it was polled" in child.output


def test_close_in_a_handler_waits_for_the_commit_that_it_interrupts() -> None:
    child = run(
        """
        this = member(enable_auto_commit=False)
        read(3)
        cluster.inject(Fault.delay(1), api="OffsetCommit")
        terminate()
        this.commit()
        say("not interrupted")
        """
    )
    assert child.output == "closed\ncommitted {('t', 0): 3} members 0\n"
    assert child.code == 3


def test_a_handler_may_make_other_calls() -> None:
    child = run(
        """
        def handler(number, frame):
            say(client.topic_names(), this.end_offsets(("t", 0)))
            this.commit()
            producer.send("t", b"last").result(timeout=10)
        signal.signal(signal.SIGTERM, handler)
        client, producer = ottla.Client(cluster.bootstrap), ottla.Producer(cluster.bootstrap)
        this = member()
        read(4)
        terminate()
        say([record.value for record in this.poll(timeout=60)])
        """
    )
    assert child.output == ("['t'] {('t', 0): 4}\n[b'last']\ncommitted {('t', 0): 4} members 1\n")
    assert child.code == 0


def test_a_second_signal_ends_closing() -> None:
    child = run(
        """
        cluster.inject(Fault.delay(2), api="LeaveGroup")
        def handler(number, frame):
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))
            terminate()
            this.close(timeout=20)
            say("closed")
        signal.signal(signal.SIGTERM, handler)
        this = member()
        read(4)
        terminate()
        this.poll(timeout=60)
        """
    )
    assert "closed" not in child.output
    assert child.code == 4


def test_a_callback_cannot_close_its_consumer() -> None:
    child = run(
        """
        this = ottla.Consumer(cluster.bootstrap, group_id="g")
        this.subscribe(["t"], on_assigned=lambda *_: this.close())
        try: this.poll(timeout=60)
        except ottla.errors.StateError as error: say(error)
        this.close()
        """
    )
    assert child.output.startswith("close() in a callback of the consumer")


SHARE = """
this = ottla.ShareConsumer(cluster.bootstrap, group_id="g", value_deserializer=HOOK)
this.subscribe(["t"])
cluster.append("t", 0, [b"4"])
"""
SHARE_READS = {
    "poll": "while True: this.poll(timeout=60)",
    "iterate": "for record in this: pass",
    "poll_arrow": "while True: this.poll_arrow(timeout=60)",
}


@pytest.mark.parametrize("read", SHARE_READS)
def test_a_handler_closes_the_share_consumer_that_its_thread_polls(read: str) -> None:
    setup = SHARE.replace("HOOK", "None")
    child = run(setup + "terminate(0.5)\n" + SHARE_READS[read])
    assert child.output == "closed\ncommitted {} members 0\n"
    assert child.code == 3


PRODUCER = """
this = ottla.Producer(cluster.bootstrap, linger_ms=0, buffer_memory=20_000)
this.send("t", b"first").result(timeout=10)
cluster.inject(Fault.delay(1), api="Produce")
"""
WRITES = {
    "flush": "this.send('t', b'x')\nterminate()\nthis.flush()",
    "result": "sent = this.send('t', b'x')\nterminate()\nsent.result()",
    "send": "terminate()\nfor _ in range(30): this.send('t', b'x' * 1000)",
    "send_batch": "terminate()\nthis.send_batch('t', [b'x' * 1000] * 30)",
    "close": "this.send('t', b'x')\nterminate()\nthis.close()",
}


@pytest.mark.parametrize("write", WRITES)
def test_a_handler_closes_the_producer_whose_call_it_interrupts(write: str) -> None:
    last = "\nsay('not interrupted')"
    child = run(PRODUCER + WRITES[write] + last)
    assert child.output == "closed\ncommitted {} members 0\n"
    assert child.code == 3
