"""The scenarios of a simulation: what happens to a client, step by step, as in the guide."""

from __future__ import annotations

from ottla.console.simulation.layout import GROUP, TOPIC
from ottla.console.simulation.plan import Plan, Scenario


def _leader_moves(plan: Plan) -> None:
    partition = plan.partition()
    leader, follower = plan.leader(partition), plan.follower(partition)
    name = f"{TOPIC}-{partition}"
    replicas = ", ".join(map(str, plan.layout.replicas[partition]))
    plan.say(
        f"{name} is led by broker {leader}; its replicas are on brokers {replicas}. Only the "
        "leader accepts its records."
    )
    plan.wait(3)
    plan.do(
        "move_leader",
        f"Broker {leader} now responds NOT_LEADER_OR_FOLLOWER, with the new leader where the "
        "client understands it (KIP-951). Watch the tiles: the partition changes its place, and a "
        "batch or two is sent again.",
        partition=partition,
        broker=follower,
    )
    plan.wait(4)
    plan.say(
        "The partition's leader epoch grew by one. A broker may lag behind the others: a response "
        "with an older epoch is ignored, so metadata never goes back in time."
    )
    plan.wait(3)
    other = plan.random.choice([each for each in plan.layout.replicas if each != partition])
    plan.do(
        "move_leader",
        "Another one. A rolling restart of the cluster moves all leaders several times: every one "
        "of these is routine.",
        partition=other,
        broker=plan.follower(other),
    )
    plan.wait(4)


def _broker_dies(plan: Plan) -> None:
    broker = plan.broker()
    plan.say(f"Broker {broker} leads {plan.led_by(broker)}, and has connections of this client.")
    plan.wait(3)
    plan.do(
        "kill_broker",
        "Its partitions move to replicas that are in sync. The client refreshes its metadata, "
        "because the broker's partitions have probably moved, and sends again what was in flight.",
        broker=broker,
    )
    plan.wait(4)
    plan.say(
        "The other brokers now lead everything, and the partitions are under-replicated: the Map "
        "shows them dashed. Producing and fetching go on."
    )
    plan.wait(3)
    plan.do(
        "start_broker",
        "The broker catches up and is in sync again. It leads nothing until the preferred leaders "
        "are elected, or moved back.",
        broker=broker,
    )
    plan.wait(4)
    first = next(each for each in plan.layout.replicas if plan.leader(each) == broker)
    plan.do(
        "move_leader",
        f"A preferred leader is elected again: {TOPIC}-{first} goes back to broker {broker}.",
        partition=first,
        broker=broker,
    )
    plan.wait(3)


def _response_lost(plan: Plan) -> None:
    first = plan.broker()
    plan.say(
        "The producer is idempotent by default: each batch has a producer id and a sequence "
        "number of its partition."
    )
    plan.wait(2.5)
    plan.do(
        "lose_response",
        "From the client's side, the batch may or may not have been written. It asks again under "
        "the same sequence numbers: the leader recognises the batch, and responds with the offset "
        "that it has.",
        broker=first,
    )
    plan.wait(4)
    plan.do(
        "lose_response",
        "The same at another broker. Without idempotence, each of these batches would be in the "
        "partition twice.",
        broker=plan.broker(first),
    )
    plan.wait(4)


def _coordinator_moves(plan: Plan) -> None:
    before = plan.layout.coordinator
    after = plan.broker(before)
    plan.say(
        f"One broker decides about the membership of the group {GROUP}: its coordinator, broker "
        f"{before}. The consumer has a connection to it that carries heartbeats and commits alone."
    )
    plan.wait(3)
    plan.do(
        "move_coordinator",
        "The coordinator moves as any leader does. The old one responds NOT_COORDINATOR to the "
        "next heartbeat or commit, and the client looks the coordinator up again. No partition is "
        "lost: the new coordinator has loaded the group.",
        broker=after,
    )
    plan.wait(5)
    plan.do(
        "move_coordinator",
        "And once more. Producing and fetching do not notice: they go to the leaders.",
        broker=plan.broker(before, after),
    )
    plan.wait(5)


def _one_address(plan: Plan) -> None:
    first = plan.layout.brokers[0]
    other = plan.broker(first)
    plan.say(
        "It is tempting to put a Kafka cluster behind one address, as one does with web servers. "
        "Now each broker advertises its own."
    )
    plan.wait(3)
    plan.do(
        "one_address",
        "It works until the metadata is refreshed. From then on all brokers seem to be one, and "
        f"most requests reach the wrong one: watch broker {first}'s connections, and that the "
        "records of the other leaders are not acknowledged any more.",
    )
    plan.wait(4)
    follower = next(index for index in plan.layout.replicas if plan.leader(index) == other)
    plan.do(
        "move_leader",
        "A change of a leader makes the client refresh its metadata. Only the leader accepts a "
        f"partition's records: broker {first} responds NOT_LEADER_OR_FOLLOWER, every time.",
        partition=follower,
        broker=next(each for each in plan.layout.replicas[follower][1:]),
    )
    plan.wait(5)
    plan.say(
        "The records wait in the producer's buffer. Nothing is lost, but nothing works: `ottla "
        "doctor` finds this by comparing the broker ids behind each address."
    )
    plan.wait(3)
    plan.do(
        "own_addresses",
        "The cluster heals as soon as each broker advertises an address that leads to it. A "
        "balancer is good for bootstrap only.",
    )
    plan.wait(5)


def _session_expires(plan: Plan) -> None:
    plan.say(
        f"The consumer is the only member of the group {GROUP}. Its heartbeats show "
        "the coordinator that it is alive."
    )
    plan.wait(3)
    plan.do(
        "expire_session",
        "Its next heartbeat or commit gets UNKNOWN_MEMBER_ID. Its partitions may belong to others "
        "by now, so it may not commit what it has read: on_lost is called, not on_revoked.",
    )
    plan.wait(4)
    plan.say(
        "It joined again, and reads from the committed offsets: some records come a second time. "
        "Reading is at least once, unless the application writes its results in transactions."
    )
    plan.wait(3)


def _buffer_full(plan: Plan) -> None:
    seconds = round(plan.random.uniform(5, 6), 1)
    plan.say(
        "send() puts a record into the buffer and returns at once: a thread of the producer sends "
        "it. The buffer is small here: 256 KiB (buffer.memory)."
    )
    plan.wait(2.5)
    plan.do(
        "fill_buffer",
        "Watch the buffer: after about two seconds it is full, and send() waits for room. After "
        "request.timeout.ms without a response, the connections end, and the batches are sent "
        "again on new ones.",
        seconds=seconds,
    )
    plan.wait(5)
    plan.say(
        "send() raises TimeoutError after max.block.ms: that record was not sent, and the "
        "application decides. What send() accepted stays in the buffer until delivery.timeout.ms."
    )
    plan.wait(5)
    plan.say("The brokers respond again: the buffer empties, and send() returns at once.")
    plan.wait(3)


SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "leader_moves",
            "What happens when a leader moves",
            "Another replica leads a partition. The client follows within milliseconds.",
            _leader_moves,
        ),
        Scenario(
            "broker_dies",
            "What happens when a broker dies and returns",
            "Connections break and leaders move; later the broker comes back, and leads nothing.",
            _broker_dies,
        ),
        Scenario(
            "response_lost",
            "What happens when a response is lost",
            "A batch was written, but its producer does not know. It is not written twice.",
            _response_lost,
        ),
        Scenario(
            "coordinator_moves",
            "What happens when the coordinator moves",
            "The consumer's group gets another coordinator; the consumer keeps its partitions.",
            _coordinator_moves,
        ),
        Scenario(
            "one_address",
            "What happens when all brokers have one address",
            "A load balancer before the cluster: why the first request works, and others do not.",
            _one_address,
        ),
        Scenario(
            "session_expires",
            "What happens when a session expires",
            "The coordinator removes a silent consumer, which joins again and reads some again.",
            _session_expires,
        ),
        Scenario(
            "buffer_full",
            "What happens when the buffer is full",
            "The brokers do not respond, and the producer slows the application down.",
            _buffer_full,
        ),
    )
}
