"""The simulation of the console, over HTTP: its actions, its scenarios, and how it ends."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import ottla
from ottla import console
from ottla.cli import main
from ottla.console.simulation import Simulation
from ottla.console.simulation.tally import Tally
from ottla.errors import ConfigError
from tests.support.console import Stream, post, request

_DEADLINE = 20.0
# The pauses of scenarios take a twentieth of their time.
_SPEED = 20.0
_SCENARIOS = (
    "leader_moves",
    "broker_dies",
    "response_lost",
    "coordinator_moves",
    "one_address",
    "session_expires",
    "buffer_full",
)


class Page:
    """What a page requests, and the events that it gets."""

    def __init__(self, simulation: Simulation, served: console.Console) -> None:
        self.mock = simulation.mock
        self.producer = simulation.producer
        self._console = served
        self.events: list[dict[str, Any]] = []
        self._stream = Stream(served)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        """Collect the events, until the console ends."""
        # It may cut the connection.
        with contextlib.suppress(OSError, http.client.HTTPException):
            for kind, value in self._stream:
                if kind == "events":
                    self.events += value

    def get(self, path: str = "/api/simulation") -> Any:
        response = request(self._console, path)
        assert response.status == 200, response
        return response.json

    def post(self, route: str, **body: Any) -> Any:
        response = post(self._console, f"/api/simulation/{route}", body)
        assert response.status == 200, response
        return response.json

    def act(self, name: str, **parameters: Any) -> str:
        done: str = self.post("action", name=name, parameters=parameters)["done"]
        return done

    def refused(self, route: str, **body: Any) -> tuple[int, str]:
        """Return the status and the message of an error."""
        response = post(self._console, f"/api/simulation/{route}", body)
        return response.status, response.json["message"]

    def impossible(self, name: str, **parameters: Any) -> tuple[int, str]:
        return self.refused("action", name=name, parameters=parameters)

    def until(self, holds: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """Wait until the state meets a condition, and return it."""
        deadline = time.monotonic() + _DEADLINE
        while not holds(state := self.get()):
            assert time.monotonic() < deadline, state
            time.sleep(0.02)
        return dict(state)

    def until_comment(self, text: str, kind: str = "note") -> str:
        """Wait for a comment with a text, and return it."""
        deadline = time.monotonic() + _DEADLINE
        while True:
            for event in list(self.events):
                if event["kind"] == kind and text in event["message"]:
                    return str(event["message"])
            assert time.monotonic() < deadline, [each["message"] for each in self.events]
            time.sleep(0.02)

    def until_delivered(self) -> None:
        """Wait until records that are sent from now on are acknowledged and read."""
        sent = self.get()["traffic"]["sent"]
        self.until(lambda state: state["traffic"]["acknowledged"] > sent + 30)
        self.until(lambda state: state["traffic"]["read"] > sent + 30)

    def close(self) -> None:
        self._thread.join(5)
        assert not self._thread.is_alive()
        self._stream.close()


@pytest.fixture
def page() -> Iterator[Page]:
    with Simulation(speed=_SPEED) as simulation:
        with console.serve(simulation.producer, simulation=simulation) as served:
            page = Page(simulation, served)
            page.until(lambda state: state["members"] and state["traffic"]["read"])
            yield page
        page.close()


def _threads() -> list[str]:
    return [each.name for each in threading.enumerate() if "simulation" in each.name]


def test_the_state_has_what_the_page_shows(page: Page) -> None:
    state = page.get()
    assert page.get("/api/about")["simulation"] is True
    assert [broker["id"] for broker in state["brokers"]] == [1, 2, 3]
    assert all(broker["running"] and broker["connections"] for broker in state["brokers"])
    assert sorted(index for each in state["brokers"] for index in each["leads"]) == list(range(6))
    assert state["members"][0]["partitions"] == [0, 1, 2, 3, 4, 5]
    assert [each["name"] for each in state["scenarios"]] == list(_SCENARIOS)
    kill = next(each for each in state["actions"] if each["name"] == "kill_broker")
    assert [each["kind"] for each in kill["parameters"]] == ["broker"]
    assert (state["faults"], state["running"], state["last"]) == ([], None, None)
    # The consumer's connections show too, although the console serves the producer.
    roles = [(each.broker, each.role) for each in page.producer.connections()]
    assert (state["coordinator"], "coordinator") in roles


def test_brokers_die_and_return(page: Page) -> None:
    page.act("kill_broker", broker=1)
    state = page.get()
    assert [broker["running"] for broker in state["brokers"]] == [False, True, True]
    assert state["brokers"][0]["leads"] == []
    page.until_comment("may or may not have been processed")
    page.until_delivered()
    status, message = page.impossible("kill_broker", broker=1)
    assert (status, message) == (409, "broker 1 is not running: it cannot be killed")
    page.act("kill_broker", broker=2)
    status, message = page.impossible("kill_broker", broker=3)
    assert (status, message.split(":")[0]) == (409, "broker 3 is the last running broker")
    assert page.impossible("move_leader", partition=0, broker=1)[0] == 409
    assert page.impossible("one_address")[0] == 409
    page.act("start_broker", broker=1)
    page.act("start_broker", broker=2)
    assert page.impossible("start_broker", broker=1) == (409, "broker 1 is already running")
    # What has returned follows: it leads nothing until leaders are moved back to it.
    assert page.mock.leader("orders", 0) == 3
    page.act("move_leader", partition=0, broker=1)
    page.until(lambda state: state["brokers"][0]["connections"])
    page.until_delivered()


def test_leaders_and_coordinators_move(page: Page) -> None:
    leader = page.mock.leader("orders", 4)
    assert leader is not None
    to = leader % 3 + 1
    done = page.act("move_leader", partition=4, broker=to)
    assert done == f"The leader of orders-4 moves from broker {leader} to broker {to}."
    assert page.mock.leader("orders", 4) == to
    assert page.until_comment(done, "action")
    page.until_comment("The client knows the new leader")
    assert page.impossible("move_leader", partition=4, broker=to)[0] == 409

    before = page.get()["coordinator"]
    looked_up = page.mock.request_count("FindCoordinator")
    page.act("move_coordinator", broker=before % 3 + 1)
    assert page.mock.coordinator("billing") == before % 3 + 1
    page.until(lambda _: page.mock.request_count("FindCoordinator") > looked_up)
    page.until_comment(f"it is broker {before % 3 + 1}")
    assert page.impossible("move_coordinator", broker=before % 3 + 1)[0] == 409
    page.until_delivered()


def test_a_response_is_lost_and_nothing_is_written_twice(page: Page) -> None:
    page.act("lose_response", broker=2)
    page.until_comment("under the same sequence numbers, so that each is written once")
    # A fault that has hit its request is not listed any more.
    state = page.until(lambda state: not state["faults"])
    assert state["traffic"]["retries"] > 0
    assert state["traffic"]["twice"] == 0


def test_a_slow_link_delays_responses(page: Page) -> None:
    page.act("slow_link", broker=1, seconds=0.2)
    page.act("slow_link", broker=1, seconds=0.4)
    page.act("slow_link", broker=2)
    texts = [each["text"] for each in page.get()["faults"]]
    assert texts == [
        "each response of broker 1 is delayed by 0.4 s",
        "each response of broker 2 is delayed by 0.5 s",
    ]
    page.until(lambda state: state["faults"][0]["hits"] > 2)
    deadline = time.monotonic() + _DEADLINE
    while page.producer.metrics()["request-latency-max"] < 400:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    page.act("clear_faults")
    assert page.get()["faults"] == []
    page.until_delivered()


def test_brokers_share_one_address(page: Page) -> None:
    addresses = {broker["id"]: broker["address"] for broker in page.get()["brokers"]}
    page.act("one_address")
    state = page.get()
    assert state["behind_one_address"]
    assert {broker["advertised"] for broker in state["brokers"]} == {addresses[1]}
    assert page.impossible("one_address")[0] == 409
    page.act("move_leader", partition=0, broker=2)
    page.until_comment("The metadata has another address for the broker")
    page.act("own_addresses")
    advertised = {broker["id"]: broker["advertised"] for broker in page.get()["brokers"]}
    assert advertised == addresses
    assert page.impossible("own_addresses")[0] == 409
    page.until_delivered()


def test_a_session_expires(page: Page) -> None:
    member = page.mock.members("billing")[0].id
    page.act("expire_session")
    page.until_comment("The consumer has lost orders-0, 1, 2, 3, 4, 5")
    page.until(lambda state: state["members"] and state["members"][0]["id"] != member)
    page.until_delivered()


def test_the_buffer_fills_and_empties(page: Page) -> None:
    page.act("fill_buffer", seconds=3.5)
    page.until(lambda state: state["traffic"]["buffer_available"] < 20_000)
    page.until_comment("(buffer.memory) is full")
    page.until(lambda state: not state["faults"])
    page.until_comment("has room again")
    page.until_delivered()


def test_the_proof_finds_records_that_are_lost_or_written_twice() -> None:
    tally = Tally(1)
    for _ in range(4):
        tally.on_sent(0)
        tally.on_delivery(0, None)
    for offset, number in enumerate([0, 1, 2, 3]):
        tally.on_read(0, offset, number)
    assert tally.proof(4).holds
    tally.on_read(0, 3, 3)
    assert (tally.proof(4).holds, tally.proof(4).read_again) == (True, 1)
    # The last one is in the partition again, at an offset of its own.
    tally.on_read(0, 4, 3)
    assert (tally.proof(5).holds, tally.proof(5).twice) == (False, 1)

    tally = Tally(1)
    for _ in range(3):
        tally.on_sent(0)
        tally.on_delivery(0, None)
    tally.on_read(0, 0, 0)
    tally.on_read(0, 1, 2)
    assert (tally.proof(2).holds, tally.proof(2).missing) == (False, 1)
    assert "1 lost, 0 written twice" in str(tally.proof(2))


def test_the_traffic_survives_a_foreign_record(page: Page) -> None:
    page.mock.append("orders", 0, [b"not of this producer"])
    page.until_comment("is not of this producer")
    page.until_delivered()


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("no_such", {}, "there is no action 'no_such'"),
        ("kill_broker", {}, "broker is missing"),
        ("kill_broker", {"broker": 9}, "broker: there is no broker 9: expected 1 to 4"),
        ("kill_broker", {"broker": "1"}, "broker: there is no broker '1'"),
        ("kill_broker", {"broker": True}, "broker: there is no broker True"),
        ("kill_broker", {"broker": 1, "hard": 1}, "kill_broker has no parameter 'hard'"),
        ("move_leader", {"partition": 8, "broker": 1}, "partition: there is no partition 8"),
        ("slow_link", {"broker": 1, "seconds": 60}, "seconds: expected 0.05 to 2 seconds, got 60"),
        ("slow_link", {"broker": 1, "seconds": "x"}, "seconds: expected 0.05 to 2 seconds"),
        ("fill_buffer", [], "parameters: expected an object"),
    ],
)
def test_wrong_parameters_are_refused(
    shared: Page, name: str, parameters: Any, message: str
) -> None:
    status, found = shared.refused("action", name=name, parameters=parameters)
    assert (status, found[: len(message)]) == (400, message)


@pytest.fixture(scope="module")
def shared() -> Iterator[Page]:
    """A page for tests that change nothing."""
    with Simulation(4, speed=_SPEED) as simulation:
        with console.serve(simulation.producer, simulation=simulation) as served:
            page = Page(simulation, served)
            yield page
        page.close()


def test_a_broker_without_a_replica_cannot_lead(shared: Page) -> None:
    each = shared.get()["partitions"][0]
    without = next(broker for broker in (1, 2, 3, 4) if broker not in each["replicas"])
    status, message = shared.impossible("move_leader", partition=0, broker=without)
    assert status == 400
    assert message.startswith(f"broker {without} has no replica of orders-0: choose one of")


def test_each_scenario_loses_nothing(page: Page) -> None:
    for name in _SCENARIOS:
        started = page.post("scenario", name=name, seed=7)
        assert (started["name"], started["seed"], started["outcome"]) == (name, 7, "running")
        last = page.until(lambda state: not state["running"])["last"]
        assert (last["name"], last["outcome"], last["step"]) == (name, "finished", last["steps"])
        assert last["proof"]["holds"], last
        assert last["proof"]["sent"] == last["proof"]["read"] > 0
        state = page.get()
        assert all(broker["running"] for broker in state["brokers"])
        assert all(each["leader"] == each["replicas"][0] for each in state["partitions"])
        assert (state["faults"], state["behind_one_address"]) == ([], False)
        page.until_comment(f"{last['proof']['sent']:,} records sent")
    page.until_comment("What happens when a leader moves (seed 7).", "action")
    page.until_delivered()


def test_a_seed_determines_the_steps(page: Page) -> None:
    def plan(name: str, seed: int) -> Any:
        steps = page.post("scenario", name=name, seed=seed)["plan"]
        page.post("cancel")
        return steps

    # In between, the cluster changes: a scenario begins by restoring it.
    first = {name: plan(name, 4711) for name in _SCENARIOS}
    page.act("kill_broker", broker=2)
    assert {name: plan(name, 4711) for name in _SCENARIOS} == first
    others = [plan("leader_moves", seed) for seed in range(5)]
    assert any(each != others[0] for each in others)
    with Simulation() as other:
        assert other.start_scenario("broker_dies", 4711)["plan"] == first["broker_dies"]
    chosen = page.post("scenario", name="broker_dies")["seed"]
    page.post("cancel")
    assert plan("broker_dies", chosen)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "7", True])
def test_wrong_seeds_are_refused(shared: Page, seed: Any) -> None:
    status, message = shared.refused("scenario", name="leader_moves", seed=seed)
    assert (status, message.split(",")[0]) == (
        400,
        "seed: expected a whole number from 0 to 4294967295",
    )


def test_one_scenario_at_a_time_and_cancelling_restores() -> None:
    with (
        Simulation(speed=1.0) as simulation,
        console.serve(simulation.producer, simulation=simulation) as served,
    ):
        page = Page(simulation, served)
        assert page.refused("cancel") == (409, "no scenario is running")
        assert page.refused("scenario", name="none")[0] == 400
        page.post("scenario", name="broker_dies", seed=1)
        status, message = page.refused("scenario", name="leader_moves", seed=1)
        assert (status, message.split(":")[0]) == (409, "a scenario is running")
        assert page.impossible("clear_faults")[0] == 409
        page.until(lambda state: not all(broker["running"] for broker in state["brokers"]))
        page.post("cancel")
        state = page.get()
        assert all(broker["running"] for broker in state["brokers"])
        assert (state["running"], state["last"]["outcome"]) == (None, "cancelled")
        page.until_comment("The scenario was cancelled", "action")
        page.until_delivered()
    page.close()


def test_closing_ends_all_threads_whatever_happens() -> None:
    before = _threads()
    simulation = Simulation()
    simulation.perform("one_address", {})
    simulation.perform("fill_buffer", {"seconds": 15})
    simulation.perform("kill_broker", {"broker": 2})
    simulation.start_scenario("buffer_full", 3)
    time.sleep(0.5)
    assert len(_threads()) > len(before)
    simulation.close()
    assert _threads() == before
    simulation.close()
    with pytest.raises(ottla.errors.ClosedError):
        simulation.perform("clear_faults", {})


@pytest.mark.parametrize("brokers", [2, 13])
def test_a_simulation_has_a_bounded_number_of_brokers(brokers: int) -> None:
    before = _threads()
    with pytest.raises(ConfigError, match=f"a simulation has 3 to 12 brokers, not {brokers}"):
        Simulation(brokers)
    assert _threads() == before


def test_there_are_no_routes_without_a_simulation(mock_cluster: ottla.testing.MockCluster) -> None:
    with (
        ottla.Client(mock_cluster.bootstrap) as client,
        console.serve(client) as served,
    ):
        assert request(served, "/api/about").json["simulation"] is False
        assert request(served, "/api/simulation").status == 404


def test_the_command_serves_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["console", "--simulate", "--no-browser", "--for", "0.2"]) == 0
    assert capsys.readouterr().out.startswith("ottla console: http://127.0.0.1:")
    for arguments in (["kafka:9092"], ["-b", "kafka:9092"], ["-X", "client.id=x"]):
        assert main(["console", *arguments, "--simulate"]) == 2
        assert "--simulate has a cluster of its own" in capsys.readouterr().err
    assert main(["console", "--simulate", "2", "--no-browser"]) == 2
    assert "a simulation has 3 to 12 brokers, not 2" in capsys.readouterr().err
