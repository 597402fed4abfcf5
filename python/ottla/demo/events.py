"""The demo's events, generated from a fixed seed, so that reads can be checked to the byte."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from dataclasses import dataclass, field

ACTIONS = ("view", "search", "cart", "purchase", "refund")
_SEED = 20111


@dataclass
class EventSummary:
    """The count, checksum and actions of a set of events, independent of their order."""

    count: int = 0
    checksum: int = 0
    actions: Counter[str] = field(default_factory=Counter)


def generate_events(count: int) -> tuple[list[bytes], list[bytes], EventSummary]:
    """Return values (JSON), keys (the user) and their summary."""
    random_ = random.Random(_SEED)
    users = random_.choices([f"user-{n:05}" for n in range(10_000)], k=count)
    actions = random_.choices(ACTIONS, k=count)
    cents = random_.choices(range(100_000), k=count)
    # json.dumps for a million events would take longer than all other steps together.
    values = [
        f'{{"id":{number},"user":"{user}","action":"{action}","cents":{cent}}}'.encode()
        for number, (user, action, cent) in enumerate(zip(users, actions, cents, strict=True))
    ]
    keys = [user.encode() for user in users]
    return values, keys, EventSummary(count, checksum(values), Counter(actions))


def checksum(values: list[bytes]) -> int:
    """Return the sum of the values' CRC-32s, which does not depend on their order."""
    return sum(map(zlib.crc32, values))
