"""`python -m tests.support`: run a real cluster for experiments, until Ctrl-C."""

from __future__ import annotations

import contextlib
import signal

from tests.support.kafka_cluster import KafkaCluster

if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt), KafkaCluster() as kafka:
        print(f"export OTTLA_BOOTSTRAP={kafka.bootstrap}", flush=True)
        signal.pause()
