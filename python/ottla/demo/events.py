"""The demo's events: made from a seed, so that what comes back can be checked to the byte."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from dataclasses import dataclass, field

ACTIONS = ("view", "search", "cart", "purchase", "refund")
_SEED = 20111


@dataclass
class Tally:
    """What a set of events comes to, whatever order they are in."""

    count: int = 0
    checksum: int = 0
    actions: Counter[str] = field(default_factory=Counter)


def make_events(count: int) -> tuple[list[bytes], list[bytes], Tally]:
    """Return values (JSON), keys (the user), and what they come to."""
    random_ = random.Random(_SEED)
    users = random_.choices([f"user-{n:05}" for n in range(10_000)], k=count)
    actions = random_.choices(ACTIONS, k=count)
    cents = random_.choices(range(100_000), k=count)
    # A million times json.dumps would take longer than all other steps together.
    values = [
        f'{{"id":{number},"user":"{user}","action":"{action}","cents":{cent}}}'.encode()
        for number, (user, action, cent) in enumerate(zip(users, actions, cents, strict=True))
    ]
    keys = [user.encode() for user in users]
    return values, keys, Tally(count, checksum(values), Counter(actions))


def checksum(values: list[bytes]) -> int:
    """Return the sum of the values' CRC-32s: the same in any order, another if any byte differs."""
    return sum(map(zlib.crc32, values))
