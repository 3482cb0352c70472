"""Pages: the first screen, with today, what needs attention, the next days and links to share; and the help."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from openslot.domains.access.operations import needs_set_up
from openslot.domains.accounts.models import User
from openslot.domains.analytics.models import HostOverview, HostPeriod
from openslot.domains.analytics.operations import read_host_overview
from openslot.domains.bookings.models import AgendaEntry
from openslot.domains.bookings.operations import list_bookings_between
from openslot.domains.event_types.operations import list_event_types
from openslot.domains.mail.operations import count_kept_mails, sends_mail
from openslot.domains.timeline.models import Attention
from openslot.domains.timeline.operations import list_attention, retry_effect
from openslot.doors.web.dashboard.attention import list_troubles
from openslot.doors.web.dashboard.onboarding import STEPS
from openslot.doors.web.dashboard.rows import describe_step
from openslot.doors.web.dashboard.today import Week, read_week, show_coming, show_strip, show_today
from openslot.doors.web.shared import words
from openslot.doors.web.shared.charts import draw_spark
from openslot.doors.web.shared.pages import locale_of, page, redirect
from openslot.doors.web.shared.retries import NO_SHOW_NOTICES, RETRY_NOTICES
from openslot.doors.web.shared.sign_in import show_no_account
from openslot.doors.web.shared.words import Weekday
from openslot.platform.core.times import get_zone
from openslot.platform.core.work import Work
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.languages import first_weekday_of
from openslot.platform.routing import Request, Response, get, post

MAX_BOOKINGS, MAX_LINKS, MAX_COMING, COUNTED_DAYS = 200, 20, 8, 30
NOTICES = {"organization-deleted": Text("The organization was deleted."), **RETRY_NOTICES, **NO_SHOW_NOTICES}


@get("/")
async def show_home(request: Request, work: Work, user: User | None) -> Response:
    """Show the first screen, or ask to sign in; where nobody can, say where the link to the first account is."""
    if user is None:
        return show_no_account(work) if await needs_set_up(work) else redirect("/login")
    week = read_week(user, first_weekday=first_weekday_of(locale_of(request, user)), now=work.now)
    entries = await list_bookings_between(work, user, since=week.since, until=week.until, limit=MAX_BOOKINGS)
    attention = await list_attention(work, user)
    kept = 0 if sends_mail(work.runtime) else await count_kept_mails(work, user)
    offered, _ = await list_event_types(work, user, only_active=True, limit=MAX_LINKS)
    period = HostPeriod(first=week.today - timedelta(days=COUNTED_DAYS - 1), last=week.today)
    overview = await read_host_overview(work, user, period)
    return page(
        "dashboard/home.html",
        user,
        here="/",
        today=Weekday(week.today, week.today),
        failed=[(each, describe_step(each.effect, user, now=work.now)) for each in attention.failed],
        troubles=list_troubles(attention, offered, user, kept=kept, now=work.now),
        link=f"{work.runtime.settings.public_url}/{user.username}",
        can_be_booked=any(not each.is_private for each in offered),
        steps=STEPS,
        notices=NOTICES,
        **_show_figures(overview, period),
        **_show_days(entries, overview, attention, user, week=week, now=work.now),
    )


def _show_figures(overview: HostOverview, period: HostPeriod) -> dict[str, Any]:
    visits = [overview.visits.get(on, 0) for on in period.days]
    return {"visits": sum(visits), "bookings": overview.bookings, "spark": draw_spark(visits) if any(visits) else None}


def _show_days(
    entries: Sequence[AgendaEntry],
    overview: HostOverview,
    attention: Attention,
    user: User,
    *,
    week: Week,
    now: datetime,
) -> dict[str, Any]:
    failed = Counter(each.booking_id for each in attention.failed if each.booking_id)
    days = [(words.day(entry.starts_at, user.zone), entry) for entry in entries]
    line = show_today([each for on, each in days if on == week.today], overview.busy, user, failed=failed, now=now)
    coming = [each for on, each in days if on > week.today]
    return {
        "line": line,
        "left": _count_left(line.left),
        "time_now": now.astimezone(get_zone(user.zone)).time(),
        "strip": show_strip(entries, user, week=week, now=now),
        "coming": show_coming(coming[:MAX_COMING], user, failed=failed, now=now),
        "has_more": len(entries) == MAX_BOOKINGS,
    }


@post("/home/retry/{effect_id}", transaction="none")
async def retry_from_home(work: Work, user: User, effect_id: UUID) -> Response:
    """Try a failed step again, and show the first screen."""
    revival = await retry_effect(work, user, effect_id)
    return redirect(f"/?done={revival.verdict}")


def _count_left(count: int) -> Text:
    if not count:
        return Text("No more meetings today")
    return PluralText("%(count)s more meeting today", "%(count)s more meetings today", count=count)
