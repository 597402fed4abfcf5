"""A web server on loopback that serves a folder as GitHub Pages does.

Invariant: a path that does not exist is answered with the root's `404.html` and status 404.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class _Pages(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any, not_found: Path, **more: Any) -> None:
        self._not_found = not_found
        super().__init__(*arguments, **more)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        if code != HTTPStatus.NOT_FOUND:
            super().send_error(code, message, explain)
            return
        body = self._not_found.read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def serving(parent: Path, path: str) -> Iterator[str]:
    """Serve a folder, which has the site at `path`, during the ``with`` block; yield its URL."""
    handler = functools.partial(
        _Pages, directory=str(parent), not_found=parent / path.strip("/") / "404.html"
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{path}"
        finally:
            server.shutdown()
            thread.join()
