"""Filters by day: the first and the last day of a list, in the user's zone."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.moments import Span
from openslot.i18n import Text
from openslot.routing import Form
from openslot.web.dashboard import phrases
from openslot.web.dashboard.queries import BEFORE_FROM, NOT_A_DATE, read_day


class DayFilter(Struct, frozen=True, kw_only=True):
    """A span of days, and the fields with what is wrong with them."""

    span: Span
    form: Form[Any]


def read_days(typed: Mapping[str, str], user: User) -> DayFilter:
    """Read `from` and `to`; what is no day is left out, and is a fault of its field."""
    faults: dict[str, Text] = {}
    days = {name: read_day(typed[name]) if typed[name] else None for name in ("from", "to")}
    for name, on in days.items():
        if typed[name] and on is None:
            faults[name] = NOT_A_DATE
    first, last = days["from"], days["to"]
    if first and last and last < first:
        faults["to"], last = BEFORE_FROM, None
    span = Span(
        phrases.begin_day(first, user.zone) if first else None,
        phrases.begin_day(last + timedelta(days=1), user.zone) if last else None,
    )
    return DayFilter(span=span, form=Form(values=dict(typed), faults=faults))
