"""scim …: what providers did, what they would do, and what waits for a decision."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from openslot.cli.command import Limit, PageNumber, command, group
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.access.models import CredentialKind
from openslot.domains.access.operations import list_credentials
from openslot.domains.accounts.models import Organization
from openslot.domains.accounts.organizations.operations import get_organization
from openslot.domains.people import departures
from openslot.domains.people.errors import HeldDepartureNotFound
from openslot.domains.people.models import HeldDeparture, LeaverCounts, Preview
from openslot.doors.scim.operations import list_requests
from openslot.platform.core.errors import Invalid
from openslot.platform.core.folding import find_each
from openslot.platform.core.ids import parse_id
from openslot.platform.core.work import Work

app = group("Provisioning by identity providers.")

Slug = Annotated[str, typer.Argument(help="The organization's slug")]
Emails = Annotated[list[str] | None, typer.Argument(help="Email addresses of leavers")]
All = Annotated[bool, typer.Option("--all", help="All held departures")]


@command(app, "log")
async def show_log(
    work: Work,
    slug: Slug,
    token: Annotated[str | None, typer.Option(help="Only this token, by its id as in `key list`")] = None,
    page: PageNumber = 1,
    limit: Limit = 100,
) -> Answer:
    """List providers' requests of the last 30 days, newest first."""
    organization = await get_organization(work, slug)
    tokens = await list_credentials(work, CredentialKind.SCIM_TOKEN, organization.id)
    wanted = parse_id(token) if token is not None else None
    chosen = [each.id for each in tokens if wanted in {None, each.id}]
    found = await list_requests(work, chosen, page=page, limit=limit)
    rows = [(r.at, r.token_name, r.method, r.path, r.status, r.user_name, r.detail) for r in found]
    columns = ("Time", "Token", "Method", "Path", "Status", "User", "Detail")
    names = "at method path status user_name detail"
    shown = [pick(each, names, token=each.token_name, user_id=each.member_id) for each in found]
    return Answer({"requests": shown}, TableRows(columns, rows, "No requests in the last 30 days."))


@command(app, "preview")
async def preview(work: Work, slug: Slug, emails: Emails = None) -> Answer:
    """Show what would be cancelled or declined if these members, or all, were suspended or removed now."""
    found = await departures.preview(work, await get_organization(work, slug), emails or [])
    rows = [(p.email, p.name, p.counts.cancelled, p.counts.declined, _outcome(p)) for p in found]
    columns = ("Email", "Name", "Upcoming bookings", "Requests", "They would")
    return Answer({"members": [_shape(each) for each in found]}, TableRows(columns, rows, "No active members found."))


@command(app, "held")
async def list_held(work: Work, slug: Slug) -> Answer:
    """List leavers whose bookings wait for a decision."""
    found = await departures.list_held(work, await get_organization(work, slug))
    rows = [
        (h.email, h.name, h.held_at, "removed" if h.removed else "suspended", h.counts.cancelled, h.counts.declined)
        for h in found
    ]
    columns = ("Email", "Name", "Since", "Was", "Upcoming bookings", "Requests")
    shown = [pick(each, "email name held_at removed", **_count(each.counts)) for each in found]
    return Answer({"held": shown}, TableRows(columns, rows, "No departure is waiting."))


@command(app, "approve")
async def approve(work: Work, slug: Slug, emails: Emails = None, everyone: All = False) -> Answer:
    """Approve departures: the leavers' upcoming bookings are cancelled."""
    return await _decide(work, slug, emails or [], departures.approve, everyone=everyone, word="approved")


@command(app, "reject")
async def reject(work: Work, slug: Slug, emails: Emails = None, everyone: All = False) -> Answer:
    """Reject departures: the members are back, and their bookings stay."""
    return await _decide(work, slug, emails or [], departures.reject, everyone=everyone, word="rejected")


async def _decide(
    work: Work,
    slug: str,
    emails: list[str],
    decide: Callable[[Work, Organization, HeldDeparture], Awaitable[object]],
    *,
    everyone: bool,
    word: str,
) -> Answer:
    if bool(emails) == everyone:
        raise Invalid("Specify leavers by email address, or --all")
    organization = await get_organization(work, slug)
    locked = await departures.lock_held(work, organization.id)
    waiting = [each for each in await departures.list_held(work, organization) if each.user_id in locked]
    held = {each.email: each for each in waiting}
    found = held if everyone else await find_each(work.db, emails, held)
    if not found.keys() >= set(emails):
        raise HeldDepartureNotFound
    wanted = {each.user_id: each for each in found.values()}
    for each in wanted.values():
        await decide(work, organization, each)
    return Answer({word: [each.email for each in wanted.values()]}, f"{len(wanted)} departures {word}.")


def _shape(found: Preview) -> dict[str, object]:
    cancelled = found.is_managed and not found.is_held and not found.is_kept
    return pick(
        found,
        "email name",
        managed=found.is_managed,
        **_count(found.counts),
        cancelled=cancelled,
        held=found.is_held,
    )


def _count(counts: LeaverCounts) -> dict[str, int]:
    return {
        "upcoming_bookings": counts.cancelled,
        "handed_over": counts.handed_over,
        "requests": counts.declined,
        "requests_handed_over": counts.requests_handed_over,
    }


def _outcome(preview: Preview) -> str:
    if not preview.is_managed:
        return "stay: the account is not managed"
    if preview.is_kept:
        return "stay: the organization keeps them"
    return "wait for an administrator" if preview.is_held else "be cancelled"
