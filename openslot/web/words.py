"""Words for people: days, moments, waits and plans, in any language."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from openslot.accounts.plans import Plan, PlanGrant, PlanOrigin, running, strongest
from openslot.core.zones import get_zone
from openslot.i18n import PluralText, Text

PLANS = {Plan.FREE: Text("Free"), Plan.PRO: Text("Pro"), Plan.BUSINESS: Text("Business")}


def day(instant: datetime, zone: str) -> date:
    """Return the date of an instant in a zone."""
    return instant.astimezone(get_zone(zone)).date()


def moment(instant: datetime, zone: str, *, now: datetime) -> Text | date:
    """Write `Today, 14:32`, `Yesterday, 14:32`, or only the date if it is longer ago."""
    local, today = instant.astimezone(get_zone(zone)), day(now, zone)
    if local.date() == today:
        return Text("Today, %(time)s", time=local.time())
    if local.date() == today - timedelta(days=1):
        return Text("Yesterday, %(time)s", time=local.time())
    return local.date()


def wait(seconds: int) -> Text:
    """Describe how long to wait."""
    if seconds > 90 * 60:
        return PluralText(
            "Wait %(count)s hour, then try again.",
            "Wait %(count)s hours, then try again.",
            count=-(-seconds // 3600),
        )
    if seconds > 90:
        return PluralText(
            "Wait %(count)s minute, then try again.",
            "Wait %(count)s minutes, then try again.",
            count=-(-seconds // 60),
        )
    return PluralText(
        "Wait %(count)s second, then try again.", "Wait %(count)s seconds, then try again.", count=seconds
    )


def plan(grants: Sequence[PlanGrant], *, zone: str, now: datetime) -> Text:
    """Describe which plan applies, and why if it is not the user's own."""
    counts, own = strongest(grants, now=now), grants[0]
    name = PLANS[running(counts.plan, counts.until, now=now)]
    if counts.origin is PlanOrigin.ORGANIZATION:
        return Text("%(plan)s, through %(organization)s", plan=name, organization=counts.organization)
    if counts.origin is PlanOrigin.TRIAL and counts.until is not None:
        return Text("%(plan)s, on trial until %(day)s", plan=name, day=day(counts.until, zone))
    if own.until is None or own.plan is Plan.FREE:
        return name
    if own.until <= now:
        return Text(
            "%(plan)s, since %(former)s ended on %(day)s", plan=name, former=PLANS[own.plan], day=day(own.until, zone)
        )
    return Text("%(plan)s, until %(day)s", plan=name, day=day(own.until, zone))
