"""`from` and `to`: the time range of a list."""

from typing import Annotated

from msgspec import Meta

from openslot.core.moments import Moment, find_span_faults
from openslot.routing.declarations import QueryValues
from openslot.routing.parameters import Query

_WORDS = "ISO 8601 date or date-time, in UTC unless it has an offset"

From = Annotated[Moment | None, Meta(description=f"Earliest time: {_WORDS}"), Query("from")]
To = Annotated[
    Moment | None,
    Meta(description=f"Latest time, inclusive; a date includes the whole day. {_WORDS}"),
    Query("to"),
]


def check_span(given: QueryValues) -> dict[str, str]:
    """Return the faults of `from` and `to` together, if both are given."""
    return find_span_faults(given.values.get("from_"), given.values.get("to"))
