"""Programs that end without `close`: unsent records are written or reported as lost (R2)."""

from __future__ import annotations

import pytest

from ottla.testing import Fault, MockCluster
from tests.support.child import interrupt_child, run_child

WAYS = {
    "the end": ("", 0),
    "sys.exit": ("sys.exit(23)", 23),
    "an exception": ("raise ValueError('mine')", 1),
}
MAKE = {
    "sync": """
producer = ottla.Producer({bootstrap!r}, linger_ms=60_000)
called = []
for number in range(100):
    producer.send("single", str(number), on_delivery=lambda *arguments: called.append(arguments))
""",
    "asyncio": """
import asyncio
async def work():
    global producer
    producer = ottla.AsyncProducer({bootstrap!r}, linger_ms=60_000)
    for number in range(100):
        future = producer.send("single", str(number))
    await producer.connect()
asyncio.run(work())
""",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", MAKE)
def test_unsent_records_are_written_at_exit(
    mock_cluster: MockCluster, single: str, kind: str, way: str
) -> None:
    program, code = WAYS[way]
    ended = run_child(MAKE[kind].format(bootstrap=mock_cluster.bootstrap) + program)
    assert ended.code == code, ended.output
    assert mock_cluster.end_offset(single, 0) == 100
    assert ended.seconds < 50, "linger.ms is a minute"


def test_callbacks_run_at_exit(mock_cluster: MockCluster, single: str) -> None:
    ended = run_child(
        f"""
producer = ottla.Producer({mock_cluster.bootstrap!r}, linger_ms=60_000)
producer.send("single", "v", on_delivery=lambda error, where: say("offset", where.offset))
say("ready")
"""
    )
    assert ended.code == 0, ended.output
    assert ended.output == "ready\noffset 0\n"


@pytest.mark.parametrize("kind", MAKE)
def test_lost_records_are_reported_within_a_bound(
    mock_cluster: MockCluster, single: str, kind: str
) -> None:
    mock_cluster.inject(Fault.silence(), api="Produce")
    program = MAKE[kind].format(bootstrap=mock_cluster.bootstrap)
    ended = run_child(program + "say('ready')\nsys.exit(21)")
    assert ended.code == 21, ended.output
    assert "bytes are still unacknowledged" in ended.output, ended.output
    # Ten seconds for records and five for callbacks.
    assert ended.seconds < 60
    assert mock_cluster.end_offset(single, 0) == 0


def test_ctrl_c_interrupts_the_wait(mock_cluster: MockCluster, single: str) -> None:
    mock_cluster.inject(Fault.silence(), api="Produce")
    program = f"""
{MAKE["sync"].format(bootstrap=mock_cluster.bootstrap)}
say("waiting")
sys.exit(21)
"""
    ended, seconds = interrupt_child(program)
    assert ended.code == 21, ended.output
    assert "KeyboardInterrupt" in ended.output
    # Less than the ten seconds allowed for unsent records.
    assert seconds < 8


def test_closed_producers_do_not_delay_exit_and_dropped_ones_are_written(
    mock_cluster: MockCluster, single: str
) -> None:
    ended = run_child(
        f"""
for _ in range(50):
    with ottla.Producer({mock_cluster.bootstrap!r}, linger_ms=0) as producer:
        producer.send("single", "v")
dropped = ottla.Producer({mock_cluster.bootstrap!r}, linger_ms=60_000)
dropped.send("single", "written")
del dropped
open_but_idle = ottla.Producer({mock_cluster.bootstrap!r})
"""
    )
    assert (ended.code, ended.output) == (0, "")
    assert ended.seconds < 50, "linger.ms is a minute"
    assert mock_cluster.end_offset(single, 0) == 51


def test_a_forked_child_leaves_its_parents_producers_alone(
    mock_cluster: MockCluster, single: str
) -> None:
    ended = run_child(
        f"""
producer = ottla.Producer({mock_cluster.bootstrap!r}, linger_ms=60_000)
producer.send("single", "of the parent")
child = os.fork()
if not child:
    sys.exit(5)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
say("fine")
"""
    )
    assert (ended.code, ended.output) == (0, "fine\n")
    assert mock_cluster.end_offset(single, 0) == 1
