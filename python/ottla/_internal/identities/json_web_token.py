"""The claims of a token, for messages and its expiry.

Nothing is verified: the broker does that, and the client has no keys for it.
"""

from __future__ import annotations

import base64
import json
from typing import Any


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a JSON Web Token; an empty dict if it is none."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        claims = json.loads(base64.urlsafe_b64decode(padded))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def base64url(raw: bytes) -> str:
    """Encode as URL-safe Base64 without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
