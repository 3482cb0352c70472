"""link …: links through which an event type can be booked a number of times."""

from typing import Annotated

import typer

from openslot.cli.command import Limit, PageNumber, command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.event_types.links.operations import (
    create_booking_link,
    find_link_url,
    list_booking_links,
    revoke_booking_link,
)
from openslot.domains.event_types.links.rules import read_end
from openslot.domains.event_types.operations import get_event_type_by_slug
from openslot.domains.event_types.schemas import show_link
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import parse_id
from openslot.platform.core.times import get_zone
from openslot.platform.core.work import Work

app = group("Links for a number of bookings.")

Slug = Annotated[str, typer.Argument(help="Short name of the event type")]
HostEmail = Annotated[str, typer.Option("--user", help="Email address of its host")]


@app.callback()
def link() -> None:
    """Links for a number of bookings."""


@command(app, "create")
async def create_link(
    work: Work,
    slug: Slug,
    *,
    user: HostEmail,
    uses: Annotated[int, typer.Option(help="For how many bookings it is")] = 1,
    ends_at: Annotated[
        str | None,
        typer.Option(help="Until when it can be used: ISO 8601, in the host's time zone unless it has an offset"),
    ] = None,
    note: Annotated[str | None, typer.Option(help="A note that only the host reads")] = None,
) -> Answer:
    """Create a link for one or several bookings of an event type, a private one too."""
    host = await get_user_by_email(work, user)
    until = read_end(ends_at, get_zone(host.zone)) if ends_at else None
    if ends_at and until is None:
        raise Invalid(details={"endsAt": "must be a time such as 2026-03-31T18:00"})
    found = await get_event_type_by_slug(work, host, slug)
    event_type, made = await create_booking_link(work, host, found.id, uses=uses, ends_at=until, note=note)
    url = find_link_url(work.runtime, host, event_type, made)
    return Answer(show_link(made, url=url, now=work.now), url or "")


@command(app, "list")
async def list_links(work: Work, slug: Slug, *, user: HostEmail, page: PageNumber = 1, limit: Limit = 20) -> Answer:
    """List the links of an event type, newest first."""
    host = await get_user_by_email(work, user)
    found = await get_event_type_by_slug(work, host, slug)
    event_type, listed, total = await list_booking_links(work, host, found.id, page=page, limit=limit)
    shown = [show_link(each, url=find_link_url(work.runtime, host, event_type, each), now=work.now) for each in listed]
    rows = [(each.id, each.status, f"{each.used}/{each.uses}", each.ends_at, each.note, each.url) for each in shown]
    nothing = f"No links yet. Create one: openslot link create {slug} --user {user}"
    table = TableRows(("Id", "Status", "Used", "Ends", "Note", "URL"), rows, nothing)
    return Answer({"links": shown, "total": total}, table)


@command(app, "revoke")
async def revoke_link(
    work: Work, link_id: Annotated[str, typer.Argument(help="Id of the link, from `link list`")], *, user: HostEmail
) -> Answer:
    """Close a link for good; what was booked through it stays."""
    host = await get_user_by_email(work, user)
    revoked = await revoke_booking_link(work, host, parse_id(link_id))
    return Answer(pick(revoked, "id revoked_at"), f"Revoked: {revoked.id}")
