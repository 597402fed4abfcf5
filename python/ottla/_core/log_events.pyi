"""The core's log events."""

from typing import final

@final
class LogEvents:
    """The engine's log events, for the thread that hands them to Python's loggers.

    Iterating waits for the next one and never ends: logger, level, file, line and message.
    """

    def __iter__(self) -> LogEvents: ...
    def __next__(self) -> tuple[str, int, str, int, str]: ...
