"""Decisions about agents' email: which categories an agent may send, and how many in a day and in an hour."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple

from openslot.agents.errors import EmailLimitReached, EmailNotAllowed
from openslot.agents.models import Agent, EmailCategory, Level
from openslot.agents.roster import ROSTER

HOUR = timedelta(hours=1)


class EmailLimits(NamedTuple):
    """How many emails an agent may send."""

    day: int
    hour: int


LIMITS = {Level.L0: EmailLimits(day=5, hour=2), Level.L1: EmailLimits(day=20, hour=5)}


def check_category(agent: Agent, category: EmailCategory) -> None:
    """Refuse a category that the agent may never send, or not at its level."""
    allowed = ROSTER[agent.slug].categories
    if category not in allowed:
        names = ", ".join(sorted(allowed))
        raise not_allowed("category", f"This agent may not send {category} email. It may send: {names}")
    if agent.autonomy_level is Level.L0 and category is not EmailCategory.INTERNAL:
        raise not_allowed("level", "This agent is at level L0 and may only send internal email")


def check_limits(level: Level, sent_at: Sequence[datetime], *, now: datetime) -> None:
    """Refuse one more email on this UTC day or within 60 minutes than the level allows."""
    limits, midnight = LIMITS[level], day_start(now)
    today = sum(moment >= midnight for moment in sent_at)
    recent = sorted(moment for moment in sent_at if moment > now - HOUR)
    if today >= limits.day:
        raise _too_many("day", limits.day, midnight + timedelta(days=1) - now)
    if len(recent) >= limits.hour:
        # One more fits as soon as fewer than the limit are left within the hour.
        raise _too_many("hour", limits.hour, recent[-limits.hour] + HOUR - now)


def day_start(now: datetime) -> datetime:
    """Return the midnight that a UTC day began with."""
    return datetime.combine(now.astimezone(UTC).date(), time(), UTC)


def counted_since(now: datetime) -> datetime:
    """Return the time from which on emails count for one of the limits."""
    return min(day_start(now), now - HOUR)


def not_allowed(cause: str, message: str) -> EmailNotAllowed:
    """Refuse an email, and name the cause."""
    return EmailNotAllowed(message, data={"cause": cause})


def _too_many(limit: str, most: int, wait: timedelta) -> EmailLimitReached:
    seconds = max(1, -(-wait // timedelta(seconds=1)))
    return EmailLimitReached(
        f"This agent has sent {most} emails in this {limit}, which is its limit. Try again in {seconds} seconds",
        data={"limit": limit, "max": most, "retryAfterSeconds": seconds},
    )
