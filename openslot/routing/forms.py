"""Forms: a Struct like any body, together with what was typed, so that a page can show it again."""

from collections.abc import Mapping
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class WhenEmpty(Struct, frozen=True):
    """Marks a field of a form: what to say when it is left empty."""

    words: str


class File(Struct, frozen=True, kw_only=True):
    """A file that a form has sent."""

    name: str
    media_type: str
    body: bytes


class Form(Struct, Generic[T], frozen=True, kw_only=True):
    """A form as it was sent, what it says, and what is wrong with it."""

    values: Mapping[str, str] = {}
    """What was typed, by field."""
    faults: Mapping[str, str] = {}
    sent: T | None = None
    """What the fields say; None while one of them is wrong."""

    def __getitem__(self, name: str) -> str:
        """Read what was typed; empty where nothing was."""
        return self.values.get(name, "")

    def get(self) -> T:
        """Read what a form without faults says."""
        if self.sent is None:
            raise LookupError("the form has faults")
        return self.sent

    def with_faults(self, faults: Mapping[str, str]) -> "Form[T]":
        """Add what a verb has found."""
        return Form(values=self.values, faults={**self.faults, **faults}, sent=self.sent)
