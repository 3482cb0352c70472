"""Several bookings of the list at once: cancel them with one reason, mark them as no-shows, save them as a CSV file.

Their forms keep the address of the list in their own, so that a refusal shows the same list again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.bookings.errors import BookingAlreadyCancelled, BookingAlreadyEnded, BookingNotFound
from openslot.domains.bookings.models import AgendaEntry, AgendaView, BookingRef, Status
from openslot.domains.bookings.operations import cancel_booking, list_selected_bookings, mark_no_show
from openslot.domains.mail.operations import sends_mail
from openslot.doors.web.dashboard.booking_list import (
    EMPTY,
    read_bookings_query,
    show_bookings,
    tell_cancelled,
    tell_missed,
    write_bookings,
)
from openslot.doors.web.dashboard.payments import sum_returned
from openslot.doors.web.shared import words
from openslot.doors.web.shared.downloads import send_csv
from openslot.doors.web.shared.pages import locale_of, page, redirect
from openslot.platform.core.errors import Invalid, Refusal
from openslot.platform.core.ids import SHAPE
from openslot.platform.core.text import ReasonText
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, post

HERE = "/bookings/selected"
MAX_SELECTED = 100
NOTHING_SELECTED = Text("Select at least one booking")
NOTHING_MARKED = Text("No booking was marked as a no-show.")

Changing = Callable[[Work, BookingRef], Awaitable[object]]


class SelectionForm(Struct, frozen=True, kw_only=True):
    id: list[str] = []


class CancelSelectedForm(Struct, frozen=True, kw_only=True):
    ids: str = ""
    """The ids of all bookings, separated by commas: a form that is shown again has one value for each field."""
    reason: ReasonText = ""


class Refused(Struct, frozen=True):
    entry: AgendaEntry
    reason: str


class Selection(Struct, frozen=True, kw_only=True):
    """What was selected: the host's own bookings, and how many ids belong to none."""

    entries: list[AgendaEntry]
    missing: int


from_list = partial(post, transaction="none", shows=show_bookings, at={BookingNotFound: "id"}, own_status=True)


@from_list(f"{HERE}/export.csv")
async def export_selected(request: Request, work: Work, user: User, form: Form[SelectionForm]) -> Response:
    """Send the selected bookings in the columns of the whole list."""
    selection = await _find_selection(work, user, form.get().id)
    body = await asyncio.to_thread(write_bookings, selection.entries, user, locale_of(request))
    return send_csv(f"bookings-selected-{words.day(work.now, user.zone)}.csv", body)


@from_list(f"{HERE}/no-show")
async def mark_selected(request: Request, work: Work, user: User, form: Form[SelectionForm]) -> Response:
    """Mark the selected bookings that have started as no-shows."""
    selection = await _find_selection(work, user, form.get().id)
    refused = await _change_each(work, user, selection.entries, mark_no_show)
    marked = len(selection.entries) - len(refused)
    query = read_bookings_query(request, user)
    if not refused and not selection.missing:
        return redirect(query.link(done="no-show", count=marked))
    said = tell_missed(marked) if marked else NOTHING_MARKED
    return _show_result(user, said, refused, selection.missing, back=query.link())


@from_list(f"{HERE}/cancel")
async def ask_to_cancel_selected(request: Request, work: Work, user: User, form: Form[SelectionForm]) -> Response:
    return await show_cancel_selected(request, work, user, Form(values={"ids": ",".join(form.get().id)}))


async def show_cancel_selected(request: Request, work: Work, user: User, form: Form[Any]) -> Response:
    """Ask for the reason, and say which bookings are cancelled, which are not, who is told and what is refunded."""
    selection = await _find_selection(work, user, form["ids"].split(","))
    reasons = [(entry, _find_reason(entry, now=work.now)) for entry in selection.entries]
    refused = [Refused(entry, reason) for entry, reason in reasons if reason]
    entries = [entry for entry, reason in reasons if not reason]
    query = read_bookings_query(request, user)
    if not entries:
        return _show_result(user, EMPTY[AgendaView.CANCELLED], refused, selection.missing, back=query.link())
    return page(
        "dashboard/selected_cancel.html",
        user,
        here="/bookings",
        form=form,
        width="selected",
        entries=entries,
        refused=refused,
        missing=selection.missing,
        returned=await sum_returned(work, user, [entry.id for entry in entries]),
        action=query.link(f"{HERE}/cancel/confirm"),
        back=query.link(),
    )


@post(f"{HERE}/cancel/confirm", transaction="none", shows=show_cancel_selected)
async def cancel_selected(request: Request, work: Work, user: User, form: Form[CancelSelectedForm]) -> Response:
    """Cancel the selected bookings, each for itself; those that can't be cancelled any more are named."""
    sent = form.get()
    selection = await _find_selection(work, user, sent.ids.split(","))
    refused = await _change_each(work, user, selection.entries, partial(_cancel, reason=sent.reason.strip()))
    cancelled = len(selection.entries) - len(refused)
    query = read_bookings_query(request, user)
    if not refused and not selection.missing:
        return redirect(query.link(done="cancelled", count=cancelled))
    told = tell_cancelled(cancelled)
    said = told.sent if sends_mail(work.runtime) else told.kept
    said = said if cancelled else EMPTY[AgendaView.CANCELLED]
    return _show_result(user, said, refused, selection.missing, back=query.link())


async def _find_selection(work: Work, user: User, texts: Iterable[str]) -> Selection:
    """Find the bookings with these ids; what is no id, or that of another host's booking, is missing."""
    wanted = {text.strip().lower() for text in texts} - {""}
    if not 1 <= len(wanted) <= MAX_SELECTED:
        fault = Text("Select at most %(count)s bookings", count=MAX_SELECTED) if wanted else NOTHING_SELECTED
        raise Invalid(fault, details={"id": fault})
    ids = [UUID(text) for text in wanted if SHAPE.fullmatch(text)]
    entries = await list_selected_bookings(work, user, ids)
    if not entries:
        raise BookingNotFound
    return Selection(entries=entries, missing=len(wanted) - len(entries))


async def _change_each(work: Work, user: User, entries: list[AgendaEntry], change: Changing) -> list[Refused]:
    """Change each booking in a transaction of its own; return those that were refused."""
    refused = []
    for entry in entries:
        # They owned or hosted it when it was selected, which is looked at again under its lock.
        ref = BookingRef(entry.id, None, by=user.id)
        try:
            await work.runtime.run(work.actor, partial(_run, change=change, ref=ref))
        except Refusal as refusal:
            refused.append(Refused(entry, refusal.sentence))
    return refused


async def _run(work: Work, *, change: Changing, ref: BookingRef) -> None:
    await change(work, ref)


async def _cancel(work: Work, ref: BookingRef, *, reason: str) -> None:
    """Cancel a booking; one that was cancelled before keeps its reason, and the host should know."""
    booking = await cancel_booking(work, ref, reason=reason)
    if booking.cancelled_at != work.now:
        raise BookingAlreadyCancelled


def _find_reason(entry: AgendaEntry, *, now: datetime) -> str | None:
    """Say why a booking can't be cancelled, if it can't."""
    if entry.status is Status.CANCELLED:
        return BookingAlreadyCancelled.message
    return BookingAlreadyEnded.message if entry.ends_at <= now else None


def _show_result(user: User, said: str, refused: list[Refused], missing: int, *, back: str) -> Response:
    return page(
        "dashboard/selected_result.html",
        user,
        here="/bookings",
        said=said,
        refused=refused,
        missing=missing,
        back=back,
    )
