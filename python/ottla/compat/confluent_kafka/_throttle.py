"""``ThrottleEvent``, the argument of ``throttle_cb``.

Invariant: a time is in seconds.
"""

from __future__ import annotations


class ThrottleEvent:
    """A broker has throttled this client.

    Args:
        broker_name: the broker's address.
        broker_id: the broker's id.
        throttle_time: seconds.
    """

    def __init__(self, broker_name: str, broker_id: int, throttle_time: float) -> None:
        self.broker_name = broker_name
        self.broker_id = broker_id
        self.throttle_time = throttle_time

    def __str__(self) -> str:
        millis = int(self.throttle_time * 1000)
        return f"{self.broker_name}/{self.broker_id} throttled for {millis} ms"
