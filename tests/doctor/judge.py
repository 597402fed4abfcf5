"""Judges a report of the doctor by the true cause of its set-up; the only judge of verdicts.

It reads what a user reads: the text after "verdict". A verdict is

- right, if one finding names the cause, its fix is a remedy, and nothing else is claimed;
- half right, if the place or the cause is named, or if the remedy is missing;
- wrong, if nothing about the cause is said, or if something false is;
- wrong with certainty, if the false claim has no word of doubt, or if "no errors" is the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tests.doctor.causes.cause import Cause

Grade = Literal["right", "half", "wrong"]

_FINDING = re.compile(
    r"^  (?P<severity>error|warning|note) \((?P<phase>[^)]*)\): (?P<rest>.*?)(?=^  \S|\Z)",
    re.MULTILINE | re.DOTALL,
)
_DOUBT = re.compile(
    r"\b(may|might|perhaps|probably|possibly|likely|either|could|seems?|suggests?|looks? like|"
    r"unclear|uncertain|not certain|one of)\b",
    re.IGNORECASE,
)
_ORDER = {"note": 0, "warning": 1, "error": 2}


@dataclass(frozen=True)
class Said:
    """A finding as a user reads it, without line breaks."""

    severity: str
    phase: str
    summary: str
    fix: str

    @property
    def is_doubtful(self) -> bool:
        """Whether it has a word of doubt."""
        return _DOUBT.search(f"{self.phase} {self.summary}") is not None


@dataclass(frozen=True)
class Judgement:
    """The grade of a verdict, why it is not right, and whether it is wrong with certainty."""

    grade: Grade
    why: str = ""
    certain: bool = False


def findings_of(text: str) -> list[Said]:
    """Return the findings of a report's text."""
    _, _, verdict = text.partition("\nverdict\n")
    found = []
    for finding in _FINDING.finditer(verdict):
        # The fix is an indented line of its own.
        summary, _, fix = re.sub(r"\s+fix: ", "\0", finding["rest"], count=1).partition("\0")
        joined = (" ".join(part.split()) for part in (summary, fix))
        found.append(Said(finding["severity"], finding["phase"], *joined))
    return found


def judge(cause: Cause, text: str) -> Judgement:
    """Judge the text of a report by its true cause."""
    findings = findings_of(text)
    # Notes are advice about good practice, which names no cause.
    serious = [finding for finding in findings if finding.severity != "note"]
    for finding in serious:
        for claim in _all_in(cause.never, finding):
            why = f"claims {claim!r}: {finding.summary}"
            return Judgement("wrong", why, certain=not finding.is_doubtful)
    if cause.severity == "none":
        return _judge_health(serious)
    named = [f for f in serious if not _missing(cause.names, f.summary)]
    if not serious:
        return Judgement("wrong", "says nothing", certain=True)
    if not named:
        return _judge_unnamed(cause, serious)
    best = min(named, key=lambda f: (len(_missing(cause.remedy, f.fix)), -_ORDER[f.severity]))
    if missing := _missing(cause.remedy, best.fix):
        return Judgement("half", f"the fix lacks {missing[0]!r}: {best.fix}")
    if best.severity != cause.severity:
        why = f"says {best.severity} where the cause is of severity {cause.severity}"
        return Judgement("half", why)
    for other in serious:
        explained = other in named or any(_has(p, other.summary) for p in cause.also)
        if other.severity == "error" and not explained:
            return Judgement("half", f"says besides: {other.summary}")
    return Judgement("right")


def _judge_health(findings: Sequence[Said]) -> Judgement:
    for finding in findings:
        if finding.severity == "error":
            return Judgement("wrong", f"claims: {finding.summary}", not finding.is_doubtful)
    return Judgement("right")


def _judge_unnamed(cause: Cause, serious: Sequence[Said]) -> Judgement:
    """Judge findings of which none names the whole cause: half, if one names a part of it."""
    closest = min(serious, key=lambda f: len(_missing(cause.names, f.summary)))
    missing = _missing(cause.names, closest.summary)
    if len(missing) < len(cause.names):
        return Judgement("half", f"does not say {missing[0]!r}: {closest.summary}")
    certain = closest.severity == "error" and not closest.is_doubtful
    return Judgement("wrong", f"says instead: {closest.summary}", certain)


def _all_in(patterns: Sequence[str], finding: Said) -> list[str]:
    return [p for p in patterns if _has(p, finding.summary) or _has(p, finding.fix)]


def _missing(patterns: Sequence[str], text: str) -> list[str]:
    return [pattern for pattern in patterns if not _has(pattern, text)]


def _has(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
