"""Clients and processes: exit, fork, the GIL and leaks (R2 to R4)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.child import run_child

SETUP = """
cluster = MockCluster(brokers=3)
cluster.create_topic("t")
client = ottla.Client(cluster.bootstrap)
producer = ottla.Producer(cluster.bootstrap, linger_ms=0)
producer.send("t", "first").result(timeout=10)
consumer = ottla.Consumer(cluster.bootstrap, auto_offset_reset="earliest")
consumer.assign([("t", 0)])
first = next(consumer)
"""
SILENT = """
cluster.inject(Fault.silence(), api="Produce")
cluster.inject(Fault.silence(), api="Fetch")
"""

EXITS = {
    "nothing closed": ("", 0),
    "unsent records": ("producer.send('t', 'x')", 0),
    "an open scan": ("scan = ottla.scan('t', client); next(scan)", 0),
    "a member of a group": (
        (
            "member = ottla.Consumer(cluster.bootstrap, group_id='g', topics=['t'])\n"
            "while not member.assignment(): member.poll(timeout=0.05)"
        ),
        0,
    ),
    "an exported stream": (
        "import pyarrow; reader = pyarrow.RecordBatchReader.from_stream(ottla.scan('t', client))",
        0,
    ),
    "sys.exit": ("sys.exit(23)", 23),
    "an exception": ("raise ValueError('mine')", 1),
    "os._exit": ("os._exit(9)", 9),
    "a silent mock": (SILENT + "sent = producer.send('t', 'x')", 0),
    "an atexit handler that uses it": (
        (
            "import atexit\n"
            "atexit.register(lambda: producer.send('t', 'x').result(timeout=5))\nsys.exit(4)"
        ),
        4,
    ),
}


@pytest.mark.parametrize("way", EXITS)
def test_exit_without_close(way: str) -> None:
    program, code = EXITS[way]
    ended = run_child(SETUP + "say('ready')\n" + program)
    assert "ready" in ended.output, ended.output
    assert ended.code == code, ended.output
    assert "panicked" not in ended.output
    assert ended.seconds < 50


DAEMONS = {
    "result": "sent.result()",
    "flush": "producer.flush()",
    "next of a scan": "next(scan)",
    "poll": "consumer.poll(timeout=60)",
    "a busy poller": "while True: busy_consumer().poll(timeout=0.01)",
    "result that comes at exit": "late.result()",
    "a busy sender": "while True: busy.send('t', 'x').result(timeout=10)",
    "a busy reader": "while True: list(ottla.scan('t', client, end=1))",
    "a full buffer": "while True: producer.send('t', b'x' * 100_000)",
}


@pytest.mark.parametrize("wait", DAEMONS)
def test_exit_with_daemon_threads_in_a_wait(wait: str) -> None:
    silent = wait not in {"a busy sender", "a busy reader", "a busy poller"}
    program = f"""
{SETUP}
cluster.create_topic("late")
other = busy = ottla.Producer(cluster.bootstrap, linger_ms=0)
other.send("late", "x").result(timeout=10)
{SILENT if silent else ""}
cluster.clear_faults() if {wait == "result that comes at exit"} else None
cluster.inject(Fault.delay(0.6), api="Produce", topic="late")
sent = producer.send("t", "x") if {silent} else None
scan = client.scan([("t", 0, 0, 1)]) if {silent} else None
late = other.send("late", "x")
def busy_consumer():
    consumer = ottla.Consumer(cluster.bootstrap, auto_offset_reset="earliest")
    consumer.assign([("t", 0)])
    return consumer
def work():
    {DAEMONS[wait]}
for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.5)
say("leaving")
sys.exit(21)
"""
    # Run the children in parallel: they mostly wait.
    with ThreadPoolExecutor(2) as pool:
        children = list(pool.map(run_child, [program] * 2))
    for ended in children:
        assert "leaving" in ended.output, ended.output
        assert ended.code == 21, ended.output
        assert ended.seconds < 50


FORK = (
    SETUP
    + """
scan = client.scan([("t", 0, 0, 1)])
cluster.inject(Fault.delay(1.0), api="Produce", times=1)
pending = producer.send("t", "pending")
batch = producer.send_batch("t", ["a", "b"])
done = producer.send("t", "x", partition=0)

def raises_fork_error(call):
    try:
        call()
    except ottla.errors.ClosedError as error:
        assert "forked from it: create a new one here" in str(error), error
    else:
        raise AssertionError("no error was raised")

def in_the_child():
    for call in (
        lambda: client.cluster(), lambda: client.leader("t", 0), lambda: client.connections(),
        lambda: client.topic_names(), lambda: client.list_offsets({("t", 0): "latest"}),
        lambda: client.scan([("t", 0, 0, 1)]), lambda: client.close(),
        lambda: ottla.Producer(client), lambda: ottla.scan("t", client),
        lambda: producer.send("t", "x"), lambda: producer.send_batch("t", ["x"]),
        lambda: producer.flush(), lambda: producer.close(), lambda: producer.buffered_bytes,
        lambda: producer.metrics(), lambda: producer.topic_metrics(),
        lambda: batch.offsets(timeout=5),
        lambda: producer.send("t", "x", on_delivery=print),
        lambda: pending.result(timeout=5), lambda: pending.exception(timeout=5),
        lambda: batch.result(timeout=5),
        lambda: batch.errors(timeout=5), lambda: next(scan), lambda: cluster.brokers,
        lambda: cluster.create_topic("x"),
        lambda: consumer.poll(), lambda: consumer.poll_arrow(), lambda: next(consumer),
        lambda: consumer.assignment(), lambda: consumer.commit(), lambda: consumer.close(),
        lambda: consumer.seek("t", 0, 0), lambda: ottla.Consumer(client),
    ):
        raises_fork_error(call)
    for thing in (client, producer, pending, batch, scan, cluster, consumer):
        repr(thing)
    assert set(os.listdir("/proc/self/task")) == {str(os.getpid())}, "a thread was started"
    bootstrap = BOOTSTRAP
    with ottla.Client(bootstrap, timeout=60) as mine, ottla.Producer(mine) as writer:
        writer.send("t", "from the child").result(timeout=10)
        assert len(list(ottla.scan("t", mine))) > 0
        with ottla.Consumer(bootstrap, auto_offset_reset="earliest") as reader:
            reader.assign([("t", 0)])
            assert next(reader) == first

BOOTSTRAP = cluster.bootstrap
def child(leave):
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            in_the_child()
            code = 5
        except BaseException:
            import traceback
            traceback.print_exc()
        leave(code)
    return os.waitpid(pid, 0)[1] >> 8
"""
)


@pytest.mark.parametrize("leave", ["os._exit", "sys.exit"])
def test_fork(leave: str) -> None:
    ended = run_child(
        FORK
        + f"""
code = child({leave})
say("child", code)
assert pending.result(timeout=10).offset >= 1
assert batch.result(timeout=10) == 2
producer.send("t", "parent").result(timeout=10)
assert client.topic_names() == ["t"]
assert sum(len(b) for b in scan) == 1
producer.close(); client.close(); cluster.close()
say("parent fine")
""",
        timeout=150,
    )
    assert ended.output.endswith("child 5\nparent fine\n"), ended.output
    assert ended.code == 0


def test_fork_of_a_fork_and_many_children() -> None:
    ended = run_child(
        SETUP
        + """
bootstrap = cluster.bootstrap
def descend(depth):
    with ottla.Client(bootstrap, timeout=60) as mine:
        mine.topic_names()
        if depth:
            pid = os.fork()
            if not pid:
                descend(depth - 1)
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        mine.topic_names()
descend(3)
pids = []
for _ in range(5):
    pid = os.fork()
    if not pid:
        descend(0)
        sys.exit(0)
    pids.append(pid)
assert all(os.waitpid(pid, 0)[1] == 0 for pid in pids)
producer.send("t", "x").result(timeout=10)
say("fine")
"""
    )
    assert ended.output.endswith("fine\n"), ended.output
    assert ended.code == 0


def test_multiprocessing_by_fork() -> None:
    ended = run_child(
        SETUP
        + """
import multiprocessing
def work(bootstrap):
    with ottla.Producer(bootstrap) as mine:
        return mine.send("t", "x").result(timeout=10).partition
with multiprocessing.get_context("fork").Pool(3) as pool:
    assert pool.map(work, [cluster.bootstrap] * 6) == [0] * 6
assert cluster.end_offset("t", 0) == 7
say("fine")
"""
    )
    assert ended.output.endswith("fine\n"), ended.output
    assert ended.code == 0


WAITS = {
    "result": "quiet(lambda: sent.result(timeout=WAIT))",
    "batch result": "quiet(lambda: producer.send_batch('t', ['x']).result(timeout=WAIT))",
    "flush": "quiet(lambda: producer.flush(timeout=WAIT))",
    "close": "quiet(lambda: producer.close(timeout=WAIT))",
    "scan": "quiet(lambda: list(client.scan([('t', 0, 0, 1)], timeout=WAIT)))",
    "exported stream": (
        "quiet(lambda: pyarrow.RecordBatchReader.from_stream("
        "client.scan([('t', 0, 0, 1)], timeout=WAIT)).read_all())"
    ),
    "unknown topic": "quiet(lambda: client.cluster(['nowhere'], timeout=WAIT))",
    "connecting": (
        "address = f'127.0.0.1:{server.getsockname()[1]}'\n"
        "quiet(lambda: ottla.Client(address, timeout=WAIT))"
    ),
}


@pytest.mark.parametrize("wait", WAITS)
def test_other_threads_run_during_a_wait(wait: str) -> None:
    ended = run_child(
        f"""
import pyarrow, socket
{SETUP}
{SILENT}
server = socket.create_server(("127.0.0.1", 0))
WAIT = 2.0
sent = producer.send("t", "x")
def quiet(call):
    try: call()
    except (ottla.KafkaError, pyarrow.ArrowException, OSError): pass
ticks = 0
stop = False
def tick():
    global ticks
    while not stop:
        ticks += 1
        time.sleep(0.005)
thread = threading.Thread(target=tick)
thread.start()
time.sleep(0.05)
before, started = ticks, time.monotonic()
{WAITS[wait]}
gone, passed = ticks - before, time.monotonic() - started
stop = True
thread.join()
say(f"{{gone}} ticks in {{passed:.2f}} s")
assert passed > 1.8, passed
# Four hundred on an idle machine; at most one if the wait held the GIL.
assert gone > 10, gone
os._exit(0)
"""
    )
    assert ended.code == 0, ended.output


def test_a_wait_of_the_main_thread_sleeps() -> None:
    """Neither a look for signals nor the empty responses of a quiet topic wake it."""
    ended = run_child(
        f"""
import resource
{SETUP}
assert consumer.poll(timeout=1) == []
def wakeups():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
before = wakeups()
assert consumer.poll(timeout=3) == []
count = wakeups() - before
say(f"{{count}} wake-ups")
# Its end, and four looks a second; 60 if it looked every 50 ms.
assert count < 30, count
os._exit(0)
"""
    )
    assert ended.code == 0, ended.output


def test_a_signal_is_seen_although_responses_keep_waking_the_main_thread() -> None:
    """One that interrupts nothing, as does one that arrives just before the thread sleeps."""
    ended = run_child(
        """
import _thread, threading
cluster = MockCluster(brokers=1)
cluster.create_topic("t", partitions=1)
# A response every 500 ms.
consumer = ottla.ShareConsumer(cluster.bootstrap, group_id="g", topics=["t"])
assert consumer.poll(timeout=1) == []
threading.Timer(0.1, _thread.interrupt_main).start()
started = time.monotonic()
try:
    consumer.poll(timeout=20)
except KeyboardInterrupt:
    pass
passed = time.monotonic() - started
say(f"{passed:.2f} s")
assert passed < 10, passed
os._exit(0)
"""
    )
    assert ended.code == 0, ended.output


def test_a_hundred_cycles_do_not_leak() -> None:
    ended = run_child(
        """
import gc
cluster = MockCluster(brokers=3)
cluster.create_topic("t", partitions=3)
def cycle():
    client = ottla.Client(cluster.bootstrap)
    producer = ottla.Producer(client)
    producer.send_batch("t", ["x" * 1000] * 30, partitions=[0, 1, 2] * 10).result(timeout=10)
    scan = ottla.scan("t", client, start="latest")
    list(scan)
    unread = ottla.scan("t", client, start={0: 0, 1: 0, 2: 0}, end=1)
    with ottla.Producer(cluster.bootstrap) as other:
        other.send("t", "y").result(timeout=10)
    producer.close()
    client.close()
def dropped():
    # Neither closed nor read to the end.
    scan = ottla.scan("t", cluster.bootstrap, end=3, partitions=[0])
    next(scan)
    producer = ottla.Producer(cluster.bootstrap)
    producer.send("t", "z")
def state():
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(cluster.connections(b) for b in (1, 2, 3)):
        time.sleep(0.01)
    gc.collect()
    status = open("/proc/self/status").read()
    rss = int(status.split("VmRSS:")[1].split()[0])
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), rss
for _ in range(20): cycle(); dropped()
fds, threads, rss = state()
for _ in range(100): cycle(); dropped()
fds2, threads2, rss2 = state()
say(f"descriptors {fds} -> {fds2}, threads {threads} -> {threads2}, memory {rss} -> {rss2} kB")
assert fds2 <= fds, "descriptors"
assert threads2 <= threads, "threads"
# The mock keeps the records: 120 cycles of 30 kB.
assert rss2 - rss < 20_000, "memory"
""",
        timeout=300,
    )
    print(ended.output)
    assert ended.code == 0, ended.output


def test_threads_do_not_grow_with_clients() -> None:
    ended = run_child(
        """
with MockCluster(brokers=9) as cluster:
    cluster.create_topic("t", partitions=9)
    one = ottla.Client(cluster.bootstrap)
    before = len(os.listdir("/proc/self/task"))
    many = [ottla.Producer(cluster.bootstrap, linger_ms=0) for _ in range(20)]
    for producer in many:
        producer.send_batch("t", ["x"] * 9, partitions=list(range(9))).result(timeout=10)
    after = len(os.listdir("/proc/self/task"))
    say(before, after)
    # Blocking threads resolve names; there are at most eight.
    assert after - before <= 8
"""
    )
    assert ended.code == 0, ended.output


def test_import_starts_nothing() -> None:
    ended = run_child(
        """
import ottla.errors, ottla.testing, ottla._internal.scanning
assert os.listdir("/proc/self/task") == [str(os.getpid())]
ottla.partition_for_key("k", 3)
assert os.listdir("/proc/self/task") == [str(os.getpid())]
assert not {"pyarrow", "asyncio", "ottla.doctor"} & set(sys.modules)
assert set(ottla.__all__) <= set(dir(ottla))
assert all(hasattr(ottla, name) for name in ottla.__all__)
assert ottla.AsyncConsumer is ottla._internal.async_consumer.AsyncConsumer
try:
    ottla.Consumers
except AttributeError as error:
    assert "Consumers" in str(error)
else:
    raise AssertionError("a name that ottla does not have")
say("fine")
"""
    )
    assert ended.output.endswith("fine\n"), ended.output
