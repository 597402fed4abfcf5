"""Server-sent events: what the server pushes to pages, as the HTML standard encodes it.

Invariant: JSON has no line end, which would end an event.
"""

from __future__ import annotations

import json
from typing import Any

KEEP_ALIVE = ": \n\n"
"""A comment, which keeps a quiet stream open."""


def server_sent_event(kind: str, value: Any) -> str:
    """Return an event with a JSON value."""
    return f"event: {kind}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n"
