"""Whom a rejected token identified, if an identity of ottla was named in the configuration.

The broker says only that it rejects the token; most often it is the token of another account.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any

from ottla.doctor.findings import Finding

_KEY = "sasl.oauthbearer.token.provider"


def with_token_subject(
    findings: tuple[Finding, ...], *configurations: object
) -> tuple[Finding, ...]:
    """Return the findings; those about a rejected token say whom it identified.

    Args:
        findings: the findings.
        configurations: what was passed as the configuration, of which the last one wins.
    """
    identity = sys.modules.get("ottla._internal.identities.identity")
    if identity is None:
        return findings
    subject = identity.last_subject(_named_identity(configurations))
    if subject is None:
        return findings
    return tuple(
        dataclasses.replace(finding, summary=f"{finding.summary}; the token was for {subject}")
        if finding.code == "credentials"
        else finding
        for finding in findings
    )


def _named_identity(configurations: tuple[object, ...]) -> str:
    name: Any = ""
    for configuration in configurations:
        if isinstance(configuration, Mapping):
            for key in (_KEY, _KEY.replace(".", "_")):
                name = configuration.get(key, name)
    return str(name).strip().partition("?")[0]
