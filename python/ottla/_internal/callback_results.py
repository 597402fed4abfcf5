"""What an application's callback returned. The core calls this for all but None, too.

Invariant: a callback that did not run is never taken for one that did.
"""

from __future__ import annotations

from collections.abc import Coroutine


def check_callback(returned: object) -> None:
    """Refuse a coroutine: nothing would ever await it. Other results have no meaning.

    Raises:
        TypeError: the callback is a coroutine function.
    """
    if isinstance(returned, Coroutine):
        # Otherwise Python warns of it, too.
        returned.close()
        raise TypeError(
            "the callback is a coroutine function, which did not run: pass a plain function"
        )
