"""Pages: the first screen, with today, what needs attention, the next days and links to share; and the help."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.bookings import operations as agenda
from openslot.core.revivals import RevivalVerdict
from openslot.core.work import Work
from openslot.event_types import operations as event_types
from openslot.i18n import PluralText, Text
from openslot.integrations.calendars.errors import show_failure
from openslot.integrations.mail import operations as mail
from openslot.integrations.mail.notices import POT_NAMES
from openslot.routing import Response, get, post
from openslot.timeline import operations as timeline
from openslot.timeline.models import Attention, EffectKind, Trouble, UnsentMail
from openslot.web import words
from openslot.web.dashboard.rows import by_day, describe_step
from openslot.web.pages import page, redirect
from openslot.web.words import Weekday
from openslot.webhooks.models import show_switch_off

DAYS, MAX_BOOKINGS, MAX_LINKS, MAX_HELD_DAYS = 8, 50, 20, 7
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
    lines: tuple[Text, ...] = ()
    """The parts of it, one a line."""


@get("/")
async def show_home(work: Work, user: User | None) -> Response:
    """Show the first screen, or ask to sign in."""
    if user is None:
        return redirect("/login")
    today = words.day(work.now, user.zone)
    entries = await agenda.list_between(
        work,
        user,
        since=words.begin_day(today, user.zone),
        until=words.begin_day(today + timedelta(days=DAYS), user.zone),
        limit=MAX_BOOKINGS,
    )
    attention = await timeline.list_attention(work, user)
    kept = 0 if mail.sends_mail(work.runtime) else await mail.count_kept(work, user)
    offered, _ = await event_types.list_event_types(work, user, only_active=True, limit=MAX_LINKS)
    failed = Counter(each.booking_id for each in attention.failed if each.booking_id)
    is_today = [words.day(entry.starts_at, user.zone) == today for entry in entries]
    base = f"{work.runtime.settings.public_url}/{user.username}"
    return page(
        "dashboard/home.html",
        user,
        here="/",
        today=Weekday(today, today),
        todays=by_day(entries[: sum(is_today)], user, failed=failed, now=work.now),
        next_days=by_day(entries[sum(is_today) :], user, failed=failed, now=work.now),
        has_more=len(entries) == MAX_BOOKINGS,
        failed=[(each, describe_step(each.effect, user, now=work.now)) for each in attention.failed],
        troubles=[*_list_kept(kept, user), *_list_troubles(attention, user, now=work.now)],
        link=base,
        links=[each for each in offered if not each.is_private],
        notices=NOTICES,
    )


@post("/home/retry/{effect_id}", transaction="none")
async def retry_from_home(work: Work, user: User, effect_id: UUID) -> Response:
    """Try a failed step again, and show the first screen."""
    revival = await timeline.retry_effect(work, user, effect_id)
    return redirect(f"/?done={revival.verdict}")


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
            title=title, advice=Text("Nobody has got them. Read them, or set up mail."), path="/admin/mailbox"
        )
    else:
        advice = Text("Nobody has got them. Ask the administrator of this site to set up mail.")
        yield TroubleRow(title=title, advice=advice, path="/bookings")


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
        )
    return TroubleRow(
        title=Text("The webhook endpoint %(url)s was switched off", url=trouble.label),
        advice=Text("Since %(when)s. Resume it when it works again.", when=since),
        reason=show_switch_off(trouble.reason) if trouble.reason else None,
        path="/settings/webhooks",
    )
