"""The cluster of a simulation: the actions on its brokers, and how it is restored.

Invariant: ``restore()`` always returns to the initial layout: all brokers run at their own
addresses, the preferred replicas lead, and no fault is left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import ottla
from ottla.console.simulation.faults import Faults
from ottla.console.simulation.layout import GROUP, TOPIC, Layout
from ottla.errors import ConfigError, StateError
from ottla.testing import Fault, MockCluster

MIN_BROKERS, MAX_BROKERS = 3, 12

_REPLICATION = 3
_RACKS = ("rack-a", "rack-b", "rack-c")


class SimulatedCluster:
    """A mock cluster with the topic ``orders``.

    Each action checks whether it is possible, announces itself, runs, and returns the announcement.
    So the client's reactions come after the announcement.

    Args:
        brokers: the number of brokers.
        announce: called with the announcement of each action.

    Raises:
        ConfigError: a cluster of that many brokers cannot be simulated.
    """

    def __init__(self, brokers: int, announce: Callable[[str], None]) -> None:
        if not MIN_BROKERS <= brokers <= MAX_BROKERS:
            raise ConfigError(
                f"a simulation has {MIN_BROKERS} to {MAX_BROKERS} brokers, not {brokers}"
            )
        self._lock = threading.RLock()
        self._announce = announce
        self.mock = MockCluster(brokers, racks=_RACKS)
        try:
            self.mock.create_topic(TOPIC, partitions=2 * brokers, replication=_REPLICATION)
            self._addresses = self.mock.brokers
            with ottla.Client(self.mock.bootstrap) as client:
                partitions = client.partitions_for(TOPIC)
        except BaseException:
            self.mock.close()
            raise
        self._running = set(self._addresses)
        self._behind_one = False
        self._faults = Faults(self.mock)
        self.layout = Layout(
            tuple(sorted(self._addresses)),
            {index: tuple(each.replicas) for index, each in sorted(partitions.items())},
            self._coordinator(),
        )

    def _coordinator(self) -> int:
        found = self.mock.coordinator(GROUP)
        assert found is not None, "a broker runs at all times"
        return found

    def kill_broker(self, broker: int) -> str:
        """Stop a broker, which must be running and must not be the last running one."""
        with self._lock:
            if broker not in self._running:
                raise StateError(f"broker {broker} is not running: it cannot be killed")
            if len(self._running) == 1:
                raise StateError(
                    f"broker {broker} is the last running broker: start another one first"
                )
            led = self._led(broker)
            moved = f"Its leaderships move: {', '.join(led)}." if led else "It led no partition."
            text = self._say(f"Broker {broker} is killed: its connections break. {moved}")
            self.mock.stop_broker(broker)
            self._running.discard(broker)
            return text

    def start_broker(self, broker: int) -> str:
        """Start a stopped broker."""
        with self._lock:
            if broker in self._running:
                raise StateError(f"broker {broker} is already running")
            address = self._addresses[broker]
            text = self._say(f"Broker {broker} is started at its old address, {address}.")
            self._start(broker)
            return text

    def move_leader(self, partition: int, broker: int) -> str:
        """Make another replica the leader of a partition."""
        with self._lock:
            replicas = self.layout.replicas[partition]
            name = f"{TOPIC}-{partition}"
            before = self.mock.leader(TOPIC, partition)
            if broker not in replicas:
                known = ", ".join(map(str, replicas))
                raise ConfigError(
                    f"broker {broker} has no replica of {name}: choose one of {known}"
                )
            if broker not in self._running:
                raise StateError(f"broker {broker} is not running: start it first")
            if broker == before:
                raise StateError(f"broker {broker} already leads {name}")
            text = self._say(f"The leader of {name} moves from broker {before} to broker {broker}.")
            self.mock.move_leader(TOPIC, partition, broker)
            return text

    def move_coordinator(self, broker: int) -> str:
        """Make another broker the coordinator of the group."""
        with self._lock:
            before = self._coordinator()
            if broker not in self._running:
                raise StateError(f"broker {broker} is not running: start it first")
            if broker == before:
                raise StateError(f"broker {broker} already coordinates the group {GROUP}")
            text = self._say(
                f"The coordinator of the group {GROUP} moves from broker {before} to "
                f"broker {broker}."
            )
            self.mock.move_coordinator(GROUP, broker)
            return text

    def lose_response(self, broker: int) -> str:
        """Lose the response to the broker's next Produce request, which the broker processes."""
        with self._lock:
            self._check_running(broker)
            text = self._say(
                f"Broker {broker} writes the batch of its next Produce request, and closes the "
                "connection before it responds."
            )
            name = f"the response to the next Produce request to broker {broker} is lost"
            fault = Fault.disconnect("after")
            self._faults.set(name, fault, api="Produce", broker=broker, times=1)
            return text

    def slow_link(self, broker: int, seconds: float) -> str:
        """Delay each response of a broker."""
        with self._lock:
            self._check_running(broker)
            text = self._say(f"Each request to broker {broker} takes {seconds:g} s longer now.")
            name = f"each response of broker {broker} is delayed"
            self._faults.remove_starting(name)
            self._faults.set(f"{name} by {seconds:g} s", Fault.delay(seconds), broker=broker)
            return text

    def silence_produce(self, seconds: float) -> str:
        """Leave Produce requests unanswered for some seconds."""
        with self._lock:
            text = self._say(
                f"For {seconds:g} s, no broker responds to Produce, while the application goes on "
                "sending."
            )
            name = "no broker responds to Produce"
            self._faults.set(name, Fault.silence(), api="Produce", seconds=seconds)
            return text

    def share_address(self) -> str:
        """Let all brokers advertise the address of broker 1, as behind one load balancer."""
        with self._lock:
            first = self.layout.brokers[0]
            if self._behind_one:
                raise StateError("all brokers are already behind one address")
            self._check_running(first)
            address = self._addresses[first]
            text = self._say(f"All brokers now advertise {address}, which leads to broker {first}.")
            self._advertise(dict.fromkeys(self.layout.brokers, address))
            self._behind_one = True
            return text

    def use_own_addresses(self) -> str:
        """Let each broker advertise its own address again."""
        with self._lock:
            if not self._behind_one:
                raise StateError("each broker already advertises its own address")
            text = self._say("Each broker advertises its own address again.")
            self._advertise(self._addresses)
            self._behind_one = False
            return text

    def expire_session(self) -> str:
        """End the session of the group's member, as if its heartbeats had not arrived."""
        with self._lock:
            members = self.mock.members(GROUP)
            if not members:
                raise StateError(f"the group {GROUP} has no member now: wait until it has joined")
            text = self._say(
                "The coordinator removes the consumer from the group, as if no heartbeat had "
                "arrived for session.timeout.ms."
            )
            self.mock.expire_member(GROUP, members[0].id)
            return text

    def clear_faults(self) -> str:
        """Remove all faults."""
        with self._lock:
            text = self._say("All faults are removed.")
            self._faults.clear()
            return text

    def restore(self) -> None:
        """Return to the initial layout. This is not announced."""
        with self._lock:
            self._faults.clear()
            if self._behind_one:
                self._advertise(self._addresses)
                self._behind_one = False
            for broker in self.layout.brokers:
                if broker not in self._running:
                    self._start(broker)
            for partition, replicas in self.layout.replicas.items():
                if self.mock.leader(TOPIC, partition) != replicas[0]:
                    self.mock.move_leader(TOPIC, partition, replicas[0])
            if self._coordinator() != self.layout.coordinator:
                self.mock.move_coordinator(GROUP, self.layout.coordinator)

    def written(self) -> int:
        """Return the number of records in the topic, by its end offsets."""
        return sum(self.mock.end_offset(TOPIC, partition) for partition in self.layout.replicas)

    def state(self) -> dict[str, Any]:
        """Return the state of the cluster for the page."""
        with self._lock:
            first = self.layout.brokers[0]
            leaders = {index: self.mock.leader(TOPIC, index) for index in self.layout.replicas}
            brokers = [
                {
                    "id": broker,
                    "rack": _RACKS[(broker - 1) % len(_RACKS)],
                    "address": self._addresses[broker],
                    "advertised": self._addresses[first if self._behind_one else broker],
                    "running": broker in self._running,
                    "connections": self.mock.connections(broker),
                    "leads": [index for index, leader in leaders.items() if leader == broker],
                }
                for broker in self.layout.brokers
            ]
            partitions = [
                {"index": index, "leader": leaders[index], "replicas": list(replicas)}
                for index, replicas in self.layout.replicas.items()
            ]
            members = [
                {"id": member.id, "partitions": sorted(index for _, index in member.assignment)}
                for member in self.mock.members(GROUP)
            ]
            return {
                "topic": TOPIC,
                "group": GROUP,
                "brokers": brokers,
                "partitions": partitions,
                "coordinator": self.mock.coordinator(GROUP),
                "members": members,
                "behind_one_address": self._behind_one,
                "faults": self._faults.state(),
            }

    def close(self) -> None:
        """Stop all brokers."""
        self._faults.close()
        self.mock.close()

    def _say(self, text: str) -> str:
        self._announce(text)
        return text

    def _start(self, broker: int) -> None:
        self.mock.start_broker(broker)
        self._running.add(broker)

    def _led(self, broker: int) -> list[str]:
        return [
            f"{TOPIC}-{index}"
            for index in self.layout.replicas
            if self.mock.leader(TOPIC, index) == broker
        ]

    def _check_running(self, broker: int) -> None:
        if broker not in self._running:
            raise StateError(f"broker {broker} is not running: start it first")

    def _advertise(self, addresses: dict[int, str]) -> None:
        for broker, address in addresses.items():
            self.mock.advertise(broker, address)
