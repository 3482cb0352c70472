"""Pages: the links through which an event type can be booked a number of times."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.event_types.errors import TooManyLinks
from openslot.domains.event_types.links.operations import (
    create_booking_link,
    find_link_url,
    get_booking_link,
    list_booking_links,
    revoke_booking_link,
)
from openslot.domains.event_types.links.rules import LONGEST_NOTE, MAX_USES, read_end
from openslot.domains.event_types.models import BookingLink, HostLink, LinkState
from openslot.doors.web.shared import words
from openslot.doors.web.shared.curl import curl
from openslot.doors.web.shared.list_queries import make_pager, read_page
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import LINE
from openslot.platform.core.times import get_zone
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text
from openslot.platform.routing import Form, Request, Response, WhenEmpty, get, post

ROWS = 20
NOTICES = {
    "created": Text("The link was created. Copy it and send it to whoever is to book."),
    "revoked": Text("The link was revoked. What was booked through it stays."),
}
STATES = {
    LinkState.OPEN: (Text("Can be used"), "good"),
    LinkState.USED_UP: (Text("Used up"), "off"),
    LinkState.ENDED: (Text("Has ended"), "off"),
    LinkState.REVOKED: (Text("Was revoked"), "off"),
}


class NewLinkForm(Struct, frozen=True, kw_only=True):
    uses: Annotated[int, Meta(ge=1, le=MAX_USES), WhenEmpty(Text("Enter for how many bookings the link is"))]
    ends: Annotated[str, Meta(pattern=LINE, max_length=40)] = ""
    note: Annotated[str, Meta(pattern=LINE, max_length=LONGEST_NOTE)] = ""


class LinkRow(Struct, frozen=True, kw_only=True):
    found: HostLink
    url: str | None
    state: Text
    tone: str
    is_open: bool
    uses: Text
    ends: Text | None


@get("/event-types/{event_type_id}/links")
async def show_links(
    request: Request, work: Work, user: User, event_type_id: UUID, form: Form[NewLinkForm] = Form()
) -> Response:
    number = read_page(request)
    event_type, found, total = await list_booking_links(work, user, event_type_id, page=number, limit=ROWS)
    path = f"/event-types/{event_type.id}"
    return page(
        "dashboard/event_types/links.html",
        user,
        here="/event-types",
        notices=NOTICES,
        event_type=event_type,
        path=path,
        form=form.begin({"uses": "1"}),
        focus="",
        max_uses=MAX_USES,
        longest_note=LONGEST_NOTE,
        rows=[_show_link(work, user, each, url=find_link_url(work.runtime, user, event_type, each)) for each in found],
        pager=make_pager(number, total, ROWS, lambda page: f"{path}/links?page={page}"),
        curl=curl(work, user, f"{path}/links"),
    )


def _show_link(work: Work, user: User, found: HostLink, *, url: str | None) -> LinkRow:
    link, state = found.link, found.link.state(now=work.now)
    return LinkRow(
        found=found,
        url=url if state is LinkState.OPEN else None,
        state=STATES[state][0],
        tone=STATES[state][1],
        is_open=state is LinkState.OPEN,
        uses=count_uses(link),
        ends=words.at(link.ends_at, user.zone, now=work.now) if link.ends_at else None,
    )


def count_uses(link: BookingLink) -> Text:
    """Write how many uses of a link are left."""
    return Text("Uses left: %(left)s of %(count)s", left=link.uses - link.used, count=link.uses)


@post("/event-types/{event_type_id}/links", shows=show_links, names={"endsAt": "ends"}, at={TooManyLinks: "uses"})
async def create_link(work: Work, user: User, event_type_id: UUID, form: Form[NewLinkForm]) -> Response:
    """Create a link for a number of bookings, with an end in the host's time zone or without one."""
    sent = form.get()
    ends_at = read_end(sent.ends, get_zone(user.zone)) if sent.ends.strip() else None
    if sent.ends.strip() and ends_at is None:
        raise Invalid(details={"endsAt": Text("must be a date and a time, such as 2026-03-31 18:00")})
    await create_booking_link(work, user, event_type_id, uses=sent.uses, ends_at=ends_at, note=sent.note)
    return redirect(f"/event-types/{event_type_id}/links?done=created")


@get("/event-types/{event_type_id}/links/{link_id}/revoke")
async def ask_to_revoke(work: Work, user: User, event_type_id: UUID, link_id: UUID) -> Response:
    """Say what follows before a link is revoked."""
    event_type, found = await get_booking_link(work, user, event_type_id, link_id)
    return page(
        "dashboard/event_types/revoke_link.html",
        user,
        here="/event-types",
        event_type=event_type,
        link=found.link,
        uses=count_uses(found.link),
        back=f"/event-types/{event_type.id}/links",
    )


@post("/event-types/{event_type_id}/links/{link_id}/revoke")
async def revoke_link(work: Work, user: User, event_type_id: UUID, link_id: UUID) -> Response:
    """Close a link for good; what was booked through it stays."""
    await revoke_booking_link(work, user, link_id, event_type_id=event_type_id)
    return redirect(f"/event-types/{event_type_id}/links?done=revoked")
