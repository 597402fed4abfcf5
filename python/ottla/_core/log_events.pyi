"""The core's log events."""

from typing import final

@final
class LogEvents:
    """The core's log events, for the thread that passes them to Python's loggers.

    Iterating waits for the next event and never ends. An event is a tuple of logger, level, file,
    line and message.
    """

    def __iter__(self) -> LogEvents: ...
    def __next__(self) -> tuple[str, int, str, int, str]: ...
