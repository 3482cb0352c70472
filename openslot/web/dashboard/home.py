"""Pages: the first screen, with today, what needs attention, the next days and links to share; and the help."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.bookings import operations as agenda
from openslot.bookings.models import AgendaEntry
from openslot.core.revivals import RevivalVerdict
from openslot.core.times import get_zone
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.event_types.models import EventType
from openslot.i18n import PluralText, Text
from openslot.i18n.languages import first_weekday_of
from openslot.integrations.calendars.errors import show_failure
from openslot.integrations.mail import operations as mail
from openslot.integrations.mail.notices import POT_NAMES
from openslot.routing import Request, Response, get, post
from openslot.timeline import operations as timeline
from openslot.timeline.models import Attention, EffectKind, Trouble, UnsentMail
from openslot.web import words
from openslot.web.dashboard.event_types.overview import find_closed
from openslot.web.dashboard.rows import by_day, describe_step
from openslot.web.dashboard.today import show_strip, show_today, week_of
from openslot.web.pages import locale_of, page, redirect
from openslot.web.words import Weekday
from openslot.webhooks.models import show_switch_off

DAYS, MAX_BOOKINGS, MAX_LINKS, MAX_HELD_DAYS = 8, 200, 20, 7
# What a retry came to.
RETRY_NOTICES: dict[str, Text] = {
    RevivalVerdict.QUEUED: Text("It will be retried now."),
    RevivalVerdict.SKIPPED: Text("Not retried: a later change replaced it."),
    RevivalVerdict.LEFT: Text("Not retried: a later change is in progress. Try again soon."),
}
NOTICES = {"organization-deleted": Text("The organization was deleted."), **RETRY_NOTICES}


class TroubleRow(Struct, frozen=True, kw_only=True):
    """Something that does not work or is unusual, and the page where it is repaired or can be seen."""

    title: Text
    advice: Text
    reason: str | None = None
    path: str
    icon: str = "webhook"
    lines: tuple[Text, ...] = ()
    """The parts of it, one a line."""


@get("/")
async def show_home(request: Request, work: Work, user: User | None) -> Response:
    """Show the first screen, or ask to sign in."""
    if user is None:
        return redirect("/login")
    today, now = words.day(work.now, user.zone), work.now
    first = week_of(today, first_weekday=first_weekday_of(locale_of(request, user)))
    since, until = (words.begin_day(each, user.zone) for each in (first, today + timedelta(days=DAYS)))
    entries = await agenda.list_between(work, user, since=since, until=until, limit=MAX_BOOKINGS)
    attention = await timeline.list_attention(work, user)
    kept = 0 if mail.sends_mail(work.runtime) else await mail.count_kept(work, user)
    offered, _ = await event_types.list_event_types(work, user, only_active=True, limit=MAX_LINKS)
    failed = Counter(each.booking_id for each in attention.failed if each.booking_id)
    days: dict[bool, list[AgendaEntry]] = {True: [], False: []}
    for entry in entries:
        if (on := words.day(entry.starts_at, user.zone)) >= today:
            days[on == today].append(entry)
    meetings, over = show_today(days[True], user, failed=failed, now=now)
    return page(
        "dashboard/home.html",
        user,
        here="/",
        today=Weekday(today, today),
        left=_count_left(len(meetings) - over),
        strip=show_strip(entries, user, first=first, now=now),
        meetings=meetings,
        over=over,
        time_now=now.astimezone(get_zone(user.zone)).time(),
        next_days=by_day(days[False], user, failed=failed, now=now),
        has_more=len(entries) == MAX_BOOKINGS,
        failed=[(each, describe_step(each.effect, user, now=now)) for each in attention.failed],
        troubles=[*_list_kept(kept, user), *_list_troubles(attention, user, now=now), *_list_unpaid(offered)],
        link=f"{work.runtime.settings.public_url}/{user.username}",
        links=[each for each in offered if not each.is_private],
        notices=NOTICES,
    )


@post("/home/retry/{effect_id}", transaction="none")
async def retry_from_home(work: Work, user: User, effect_id: UUID) -> Response:
    """Try a failed step again, and show the first screen."""
    revival = await timeline.retry_effect(work, user, effect_id)
    return redirect(f"/?done={revival.verdict}")


def _count_left(count: int) -> Text:
    if not count:
        return Text("No more meetings today")
    return PluralText("%(count)s more meeting today", "%(count)s more meetings today", count=count)


def _list_unpaid(offered: Sequence[EventType]) -> Iterator[TroubleRow]:
    for each in offered:
        if (why := find_closed(each)) is not None:
            title = Text("“%(name)s” offers no times", name=each.name)
            yield TroubleRow(title=title, advice=why, path=f"/event-types/{each.id}", icon="card")


def _list_kept(count: int, user: User) -> Iterator[TroubleRow]:
    """Tell about mails in the mailbox: an administrator of the platform can read them and set a server up."""
    if not count:
        return
    title: Text = PluralText(
        "%(count)s email is in the mailbox: no mail server is set up",
        "%(count)s emails are in the mailbox: no mail server is set up",
        count=count,
    )
    if count >= mail.MAX_KEPT:
        title = Text("More than %(count)s emails are in the mailbox: no mail server is set up", count=count - 1)
    if user.is_admin:
        yield TroubleRow(
            title=title,
            advice=Text("Nobody has got them. Read them, or set up mail."),
            path="/admin/mailbox",
            icon="mail",
        )
    else:
        advice = Text("Nobody has got them. Ask the administrator of this site to set up mail.")
        yield TroubleRow(title=title, advice=advice, path="/bookings", icon="mail")


def _list_troubles(attention: Attention, user: User, *, now: datetime) -> Iterator[TroubleRow]:
    yield from (_unsent(each, user, now=now) for each in attention.unsent)
    if attention.held:
        yield _held(attention.held, user, now=now)
    yield from (_trouble(each, user, now=now) for each in attention.troubles)


def _unsent(unsent: UnsentMail, user: User, *, now: datetime) -> TroubleRow:
    since = words.at(unsent.since, user.zone, now=now)
    return TroubleRow(
        title=Text("Not sent: %(emails)s", emails=POT_NAMES[unsent.pot]),
        advice=Text("Since %(when)s. More emails were triggered on your booking page than are allowed.", when=since),
        path="/bookings",
        icon="mail",
    )


def _held(starts: Sequence[datetime], user: User, *, now: datetime) -> TroubleRow:
    today = words.day(now, user.zone)
    days = Counter(words.day(each, user.zone) for each in starts)
    lines = [
        PluralText("%(day)s: %(count)s time", "%(day)s: %(count)s times", day=Weekday(day, today), count=count)
        for day, count in list(days.items())[:MAX_HELD_DAYS]
    ]
    if len(days) > MAX_HELD_DAYS:
        others = len(days) - MAX_HELD_DAYS
        lines.append(PluralText("and %(count)s other day", "and %(count)s other days", count=others))
    return TroubleRow(
        title=PluralText("%(count)s time is held right now", "%(count)s times are held right now", count=len(starts)),
        advice=Text("A time is held for up to 10 minutes while someone fills in the booking form."),
        path="/availability/why",
        icon="clock",
        lines=tuple(lines),
    )


def _trouble(trouble: Trouble, user: User, *, now: datetime) -> TroubleRow:
    since = words.at(trouble.since, user.zone, now=now)
    if trouble.kind is EffectKind.CALENDAR:
        return TroubleRow(
            title=Text("The calendar “%(name)s” can't be synced", name=trouble.label),
            advice=Text("Since %(when)s. Check its password, or connect it again.", when=since),
            reason=show_failure(trouble.reason) if trouble.reason else None,
            path="/settings/calendars",
            icon="calendar",
        )
    return TroubleRow(
        title=Text("The webhook endpoint %(url)s was switched off", url=trouble.label),
        advice=Text("Since %(when)s. Resume it when it works again.", when=since),
        reason=show_switch_off(trouble.reason) if trouble.reason else None,
        path="/settings/webhooks",
    )
