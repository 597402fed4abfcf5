"""The result of ``connections()`` of clients, producers and consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla._core import ConnectionStatus

    _List = list[ConnectionStatus]
else:
    _List = list


class Connections(_List):
    """The states of connections at the time of the call: a list that notebooks show as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from ottla._internal.notebook import connections_html

        return connections_html(self)
