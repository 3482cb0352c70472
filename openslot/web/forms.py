"""Forms: read strictly, and shown again with every fault at its field."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from msgspec import Struct

from openslot.core.errors import Invalid
from openslot.core.text import is_line
from openslot.http.doors import visit_of
from openslot.web.pages import PageRequest

MOST_FIELDS = 50
UNREADABLE = "This form could not be read. Go back, reload the page and send it again."


class Field(Struct, frozen=True):
    """One line that a form asks for."""

    name: str
    most: int
    missing: str | None = None
    """What to say when it is empty; None: it may be."""


class Form(Struct, frozen=True, kw_only=True):
    """A form as it was sent, and what is wrong with it."""

    values: Mapping[str, str]
    faults: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        """Read one field; empty where it was not sent."""
        return self.values.get(name, "")

    def with_faults(self, faults: Mapping[str, str]) -> "Form":
        """Add what a verb has found."""
        return Form(values=self.values, faults={**self.faults, **faults})


EMPTY = Form(values={}, faults={})


def read_form(request: PageRequest, *fields: Field) -> Form:
    """Read a form and check the fields that a person fills; refuse a body that is no form at all."""
    sent = parse_form(visit_of(request.scope).body)
    found = {field.name: _fault(field, sent.get(field.name, "")) for field in fields}
    return Form(values=sent, faults={name: fault for name, fault in found.items() if fault is not None})


def parse_form(body: bytes) -> dict[str, str]:
    """Decode a form, each name once."""
    if not body:
        return {}
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise Invalid(UNREADABLE) from None
    if len(dict(pairs)) != len(pairs):
        raise Invalid(UNREADABLE)
    return dict(pairs)


def _fault(field: Field, value: str) -> str | None:
    if not value.strip():
        return field.missing
    if not is_line(value):
        return "Remove the line breaks and control characters"
    if len(value) > field.most:
        return f"Use at most {field.most} characters"
    return None
