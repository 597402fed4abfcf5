"""Server-sent events: messages that the server pushes to pages, in the HTML standard's encoding.

Invariant: the JSON contains no line break, which would end the event.
"""

from __future__ import annotations

import json
from typing import Any

KEEP_ALIVE = ": \n\n"
"""A comment, which keeps an idle stream open."""


def server_sent_event(kind: str, value: Any) -> str:
    """Return an event with a JSON value."""
    return f"event: {kind}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n"
