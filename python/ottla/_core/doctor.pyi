"""The checks behind ``ottla.diagnose``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from typing_extensions import Unpack

from ottla.config_types import CommonConfig

def examine(
    bootstrap: str | Sequence[str] | Mapping[str, Any] | object | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    topic: str | None = None,
    group: str | None = None,
    timeout: float | None = None,
    on_step: Callable[[dict[str, Any]], object] | None = None,
    **kwargs: Unpack[CommonConfig],
) -> dict[str, Any]:
    """Run the checks of ``ottla.diagnose`` and return what they found, as plain values.

    ``on_step`` is called on this thread, with the fields of a ``DiagnosisStep`` as a dict.
    """
