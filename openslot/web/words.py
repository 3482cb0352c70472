"""Words for people: days, moments, waits and plans as one would say them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from openslot.accounts.plans import Plan, PlanGrant, PlanOrigin, running, strongest
from openslot.core.zones import get_zone

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def sentence(fault: str) -> str:
    """Begin a field's fault with a capital, as it stands below the field."""
    return fault[:1].upper() + fault[1:]


def day(instant: datetime, zone: str) -> str:
    """Say `16 March 2026`, as the zone's calendar shows it."""
    local = instant.astimezone(get_zone(zone))
    return f"{local.day} {MONTHS[local.month - 1]} {local.year}"


def moment(instant: datetime, zone: str, *, now: datetime) -> str:
    """Say `Today, 14:32`, `Yesterday, 14:32`, or the day alone when it is longer ago."""
    local, today = instant.astimezone(get_zone(zone)), now.astimezone(get_zone(zone)).date()
    if local.date() == today:
        return f"Today, {local:%H:%M}"
    if local.date() == today - timedelta(days=1):
        return f"Yesterday, {local:%H:%M}"
    return day(instant, zone)


def zone_name(zone: str) -> str:
    """Say a zone's name with spaces between its words."""
    return zone.replace("_", " ")


def wait(seconds: int) -> str:
    """Say how long to wait."""
    if seconds > 90:
        return f"{-(-seconds // 60)} minutes"
    return "1 second" if seconds == 1 else f"{seconds} seconds"


def plan_name(plan: Plan) -> str:
    """Say a plan's name."""
    return plan.value.capitalize()


def plan(grants: Sequence[PlanGrant], *, zone: str, now: datetime) -> str:
    """Say which plan counts, and why where it is not simply the user's own."""
    counts, own = strongest(grants, now=now), grants[0]
    name = plan_name(running(counts.plan, counts.until, now=now))
    if counts.origin is PlanOrigin.ORGANIZATION:
        return f"{name}, through {counts.organization}"
    if counts.origin is PlanOrigin.TRIAL and counts.until is not None:
        return f"{name}, on trial until {day(counts.until, zone)}"
    if own.until is None or own.plan is Plan.FREE:
        return name
    if own.until <= now:
        return f"{name}, since {plan_name(own.plan)} ended on {day(own.until, zone)}"
    return f"{name}, until {day(own.until, zone)}"
