"""`from` and `to`: the time that a list is asked about."""

from typing import Annotated

from msgspec import Meta

from openslot.core.moments import Moment, find_span_faults
from openslot.routing.declarations import Given
from openslot.routing.parameters import Query

_WORDS = "ISO 8601 date or date-time, UTC unless it has an offset"

From = Annotated[Moment | None, Meta(description=f"The earliest: {_WORDS}"), Query("from")]
To = Annotated[
    Moment | None,
    Meta(description=f"The latest, included, and the whole day where it is a date: {_WORDS}"),
    Query("to"),
]


def check_span(given: Given) -> dict[str, str]:
    """Tell whether `from` and `to` are in order, where both are there."""
    return find_span_faults(given.values.get("from_"), given.values.get("to"))
