"""Requests to a web server on loopback, which may still be starting."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

_TIMEOUT = 60.0


def post(url: str, body: bytes = b"") -> Any:
    """Send a POST request, and return the response, decoded from JSON."""
    with urllib.request.urlopen(url, data=body, timeout=_TIMEOUT) as response:
        return json.load(response)


def responds(url: str) -> bool:
    """Whether a server responds at an address, with whatever status."""
    try:
        urllib.request.urlopen(url, timeout=_TIMEOUT).close()
    except urllib.error.HTTPError as error:
        error.close()
    except OSError:
        return False
    return True


def get(url: str) -> Any:
    """Send a GET request, and return the response, decoded from JSON."""
    with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:
        return json.load(response)


def status(url: str) -> int:
    """Return the status of the response to a GET request."""
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
