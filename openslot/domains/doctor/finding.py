"""The findings of the doctor."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct


class FindingState(StrEnum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that was checked: its state, what that means, and the command or step that fixes it; all in English."""

    name: str
    state: FindingState
    meaning: str
    fix: str | None = None


def ok(name: str, meaning: str) -> Finding:
    """Report that something is in order."""
    return Finding(name=name, state=FindingState.OK, meaning=meaning)


def warning(name: str, meaning: str, fix: str) -> Finding:
    """Report that something works but could be better."""
    return Finding(name=name, state=FindingState.WARNING, meaning=meaning, fix=fix)


def problem(name: str, meaning: str, fix: str) -> Finding:
    """Report that something does not work, or is not safe."""
    return Finding(name=name, state=FindingState.PROBLEM, meaning=meaning, fix=fix)


def find_worst(findings: Iterable[Finding]) -> FindingState:
    return max((finding.state for finding in findings), key=list(FindingState).index, default=FindingState.OK)
