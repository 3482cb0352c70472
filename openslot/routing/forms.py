"""Forms: a Struct like any body, together with the input as typed, so that a page can show it again."""

from collections.abc import Mapping
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class WhenEmpty(Struct, frozen=True):
    """Marks a form field with the message to show when it is left empty."""

    words: str


class File(Struct, frozen=True, kw_only=True):
    """A file that a form has sent."""

    name: str
    media_type: str
    body: bytes


class Form(Struct, Generic[T], frozen=True, kw_only=True):
    """A form as it was sent, its decoded data, and its faults."""

    values: Mapping[str, str] = {}
    """The input as typed, by field."""
    faults: Mapping[str, str] = {}
    sent: T | None = None
    """The decoded data; None if a field is invalid."""

    def __getitem__(self, name: str) -> str:
        """Return the input as typed; empty if there was none."""
        return self.values.get(name, "")

    def get(self) -> T:
        """Return the data of a form without faults."""
        if self.sent is None:
            raise LookupError("the form has faults")
        return self.sent

    def with_faults(self, faults: Mapping[str, str]) -> "Form[T]":
        """Return the form with faults that a verb has found."""
        return Form(values=self.values, faults={**self.faults, **faults}, sent=self.sent)
