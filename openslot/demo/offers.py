"""What the demo's hosts offer: event types of different kinds."""

from datetime import timedelta

from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.event_types import models
from openslot.domains.event_types.operations import add_event_type, draft_event_type, list_event_types
from openslot.domains.schedules.models import HolidayCalendar, OutOfOffice, Schedule, TimeRange, WeeklyHours
from openslot.domains.schedules.operations import add_out_of_office, add_schedule, change_schedule, list_schedules
from openslot.platform.core.times import get_zone
from openslot.platform.core.work import Work

MORNINGS = (TimeRange(9 * 60, 12 * 60),)
SPLIT_DAY = (TimeRange(9 * 60, 12 * 60 + 30), TimeRange(13 * 60 + 30, 18 * 60))
MARAS_WEEK: WeeklyHours = (SPLIT_DAY, SPLIT_DAY, SPLIT_DAY, SPLIT_DAY, MORNINGS, (), ())
VIDEO = models.Location(models.LocationKind.VIDEO_LINK, "https://meet.harbor.example/mara")
INTRO_CALL = {
    "description": "Half an hour to see whether we fit. Bring one question you really want answered.",
    "color": "#7c3aed",
    "location": VIDEO,
    "buffer_after": 15,
    "slot_interval_minutes": 15,
    "min_notice_minutes": 120,
    "questions": (
        models.Question("topic", "What would you like to talk about?", models.QuestionKind.LONG_TEXT),
        models.Question(
            "team", "How large is your team?", models.QuestionKind.CHOICE, options=("Just me", "Up to 10", "More")
        ),
    ),
}
CONSULTATION = {
    "description": "An hour on your hardest question.",
    "color": "#b45309",
    "location": models.Location(models.LocationKind.PHONE, asks=models.LocationAsks.PHONE),
    "buffer_before": 10,
    "buffer_after": 10,
    "min_notice_minutes": 24 * 60,
    "booking_window": models.BusinessDaysWindow(20),
    "limits": models.Limits(per_day=2, per_week=6),
    "price": models.Money(8000, "EUR"),
}
GROUP_WORKSHOP = {
    "description": "Eight people, one whiteboard.",
    "color": "#15803d",
    "location": models.Location(models.LocationKind.IN_PERSON, "Harbor Studio, Room 2"),
    "seats": 8,
    "booking_window": models.RollingWindow(90),
    "limits": models.Limits(per_week=24),
}


async def make_offers(work: Work, host: User) -> list[models.EventType]:
    """Make the first host's hours and offers where they are missing, and list what can be booked."""
    existing, _ = await list_event_types(work, host)
    if {each.slug for each in existing} <= {"30min"}:
        schedule, *_ = await list_schedules(work, host)
        await _make_hours(work, host, schedule)
        for wanted in _wanted(work, schedule):
            await add_event_type(work, schedule, wanted)
    return await list_offers(work, host)


async def make_second_offers(work: Work, host: User) -> list[models.EventType]:
    """Give the second host something of another kind, with mornings alone, and list what can be booked."""
    existing, _ = await list_event_types(work, host)
    if {each.slug for each in existing} <= {"30min"}:
        await _add_portfolio_review(work, host)
    return await list_offers(work, host)


async def list_offers(work: Work, host: User) -> list[models.EventType]:
    offered, _ = await list_event_types(work, host, only_active=True)
    return [each for each in offered if not each.is_private]


async def _add_portfolio_review(work: Work, host: User) -> None:
    schedule = await add_schedule(work, host, name="Mornings", hours=(MORNINGS,) * 5 + ((), ()))
    review = draft_event_type(work, schedule, name="Portfolio review", slug="portfolio-review", duration_minutes=45)
    location = models.Location(models.LocationKind.IN_PERSON, "Harbor Studio, 12 Pier Street, Brooklyn")
    await add_event_type(work, schedule, replace(review, location=location, buffer_after=15))


async def _make_hours(work: Work, host: User, schedule: Schedule) -> None:
    hours = replace(schedule, weekly_hours=MARAS_WEEK, holidays=HolidayCalendar("DE", "BE"))
    await change_schedule(work, hours)
    today = work.now.astimezone(get_zone(host.zone)).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today + timedelta(days=7 * 6 - today.weekday())
    await add_out_of_office(work, host, OutOfOffice(monday, monday + timedelta(days=5), "Sailing"))


def _wanted(work: Work, schedule: Schedule) -> list[models.EventType]:
    intro = draft_event_type(work, schedule, name="Intro call", slug="intro-call", duration_minutes=30)
    consultation = draft_event_type(work, schedule, name="Consultation", slug="consultation", duration_minutes=60)
    workshop = draft_event_type(work, schedule, name="Group workshop", slug="group-workshop", duration_minutes=90)
    partner = draft_event_type(work, schedule, name="Partner sync", slug="partner-sync", duration_minutes=25)
    return [
        replace(intro, **INTRO_CALL),
        replace(consultation, **CONSULTATION),
        replace(workshop, **GROUP_WORKSHOP),
        replace(partner, description="For those who work with us.", color="#be123c", location=VIDEO, is_private=True),
    ]
