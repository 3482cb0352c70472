"""What the doctor writes down."""

from enum import StrEnum

from msgspec import Struct


class FindingState(StrEnum):
    """How it is with one thing."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that was looked at: how it is, what that means, and the command that mends it."""

    name: str
    state: FindingState
    meaning: str
    mend: str | None = None


def ok(name: str, meaning: str) -> Finding:
    """Say that something is as it should be."""
    return Finding(name=name, state=FindingState.OK, meaning=meaning)


def warning(name: str, meaning: str, mend: str) -> Finding:
    """Say that something works and could be better."""
    return Finding(name=name, state=FindingState.WARNING, meaning=meaning, mend=mend)


def problem(name: str, meaning: str, mend: str) -> Finding:
    """Say that something does not work, or is not safe."""
    return Finding(name=name, state=FindingState.PROBLEM, meaning=meaning, mend=mend)
