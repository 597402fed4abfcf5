"""The core's counts of requests and errors, as the fields that connections and totals share."""

from __future__ import annotations

from typing import Any


def counts_of(values: dict[str, Any]) -> dict[str, Any]:
    """Take the counts out of the core's values, and return them as fields."""
    apis: dict[str, tuple[int, int, float]] = values.pop("apis")
    errors: dict[str, dict[str, int]] = {}
    for api, code, count in values.pop("errors"):
        errors.setdefault(api, {})[code] = count
    return {
        "requests": {api: count[0] for api, count in apis.items()},
        "responses": {api: count[1] for api, count in apis.items()},
        "waited": {api: count[2] for api, count in apis.items()},
        "errors": errors,
    }
