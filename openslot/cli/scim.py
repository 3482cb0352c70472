"""scim …: what providers did, what they would do, and what waits for a decision."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from openslot.access import operations as access
from openslot.access.keys import CredentialKind
from openslot.accounts import organizations
from openslot.accounts.models import Organization
from openslot.cli.output import AsJson, console, print_json, print_table
from openslot.core.errors import Invalid
from openslot.core.ids import parse_id
from openslot.core.work import Work
from openslot.people import departures
from openslot.people.errors import HeldDepartureNotFound
from openslot.people.models import HeldDeparture, Preview
from openslot.processes.runtimes import with_work
from openslot.scim.models import LoggedRequest
from openslot.scim.operations import list_requests

app = typer.Typer(help="Provisioning by identity providers.", no_args_is_help=True, add_completion=False)

Slug = Annotated[str, typer.Argument(help="The organization's slug")]
Emails = Annotated[list[str] | None, typer.Argument(help="Email addresses of leavers")]
All = Annotated[bool, typer.Option("--all", help="All held departures")]


@app.command("log")
def show_log(
    slug: Slug,
    token: Annotated[str | None, typer.Option(help="Only this token, by its id as in `key list`")] = None,
    page: Annotated[int, typer.Option(min=1, max=1_000_000)] = 1,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 100,
    as_json: AsJson = False,
) -> None:
    """List providers' requests of the last 30 days, newest first."""

    async def do(work: Work) -> list[LoggedRequest]:
        found = await organizations.get_organization(work, slug)
        tokens = await access.list_credentials(work, CredentialKind.SCIM_TOKEN, found.id)
        wanted = parse_id(token) if token is not None else None
        chosen = [each.id for each in tokens if wanted in {None, each.id}]
        return await list_requests(work, chosen, page=page, limit=limit)

    found = with_work(do)
    if as_json:
        print_json({"requests": [_shown_request(each) for each in found]})
        return
    rows = [(r.at, r.token_name, r.method, r.path, r.status, r.user_name, r.detail) for r in found]
    columns = ("Time", "Token", "Method", "Path", "Status", "User", "Detail")
    print_table(columns, rows, nothing="No requests in the last 30 days.")


@app.command("preview")
def preview(slug: Slug, emails: Emails = None, as_json: AsJson = False) -> None:
    """Show what would be cancelled if these members, or all, were suspended or removed now."""

    async def do(work: Work) -> list[Preview]:
        return await departures.preview(work, await organizations.get_organization(work, slug), emails or [])

    found = with_work(do)
    if as_json:
        shown = [
            {
                "email": p.email,
                "name": p.name,
                "managed": p.is_managed,
                "upcomingBookings": p.upcoming,
                "cancelled": p.is_managed and not p.is_held and not p.is_kept,
                "held": p.is_held,
            }
            for p in found
        ]
        print_json({"members": shown})
        return
    rows = [(p.email, p.name, p.upcoming, _outcome(p)) for p in found]
    print_table(("Email", "Name", "Upcoming bookings", "They would"), rows, nothing="No active members found.")


@app.command("held")
def list_held(slug: Slug, as_json: AsJson = False) -> None:
    """List leavers whose bookings wait for a decision."""

    async def do(work: Work) -> list[HeldDeparture]:
        return await departures.list_held(work, await organizations.get_organization(work, slug))

    found = with_work(do)
    if as_json:
        shown = [
            {
                "email": h.email,
                "name": h.name,
                "heldAt": h.held_at,
                "removed": h.removed,
                "upcomingBookings": h.upcoming,
            }
            for h in found
        ]
        print_json({"held": shown})
        return
    rows = [(h.email, h.name, h.held_at, "removed" if h.removed else "suspended", h.upcoming) for h in found]
    print_table(("Email", "Name", "Since", "Was", "Upcoming bookings"), rows, nothing="No departure is waiting.")


@app.command("approve")
def approve(slug: Slug, emails: Emails = None, everyone: All = False, as_json: AsJson = False) -> None:
    """Approve departures: the leavers' upcoming bookings are cancelled."""

    async def decide(work: Work, organization: Organization, held: HeldDeparture) -> None:
        await departures.approve(work, organization, held)

    _decide(slug, emails or [], decide, everyone=everyone, word="approved", as_json=as_json)


@app.command("reject")
def reject(slug: Slug, emails: Emails = None, everyone: All = False, as_json: AsJson = False) -> None:
    """Reject departures: the members are back, and their bookings stay."""
    _decide(slug, emails or [], departures.reject, everyone=everyone, word="rejected", as_json=as_json)


def _decide(
    slug: str,
    emails: list[str],
    decide: Callable[[Work, Organization, HeldDeparture], Awaitable[None]],
    *,
    everyone: bool,
    word: str,
    as_json: bool,
) -> None:
    if bool(emails) == everyone:
        raise Invalid("Specify leavers by email address, or --all")

    async def do(work: Work) -> list[str]:
        organization = await organizations.get_organization(work, slug)
        locked = await departures.lock_held(work, organization.id)
        waiting = [each for each in await departures.list_held(work, organization) if each.user_id in locked]
        held = {each.email.lower(): each for each in waiting}
        wanted = list(held) if everyone else [email.lower() for email in emails]
        if not held.keys() >= set(wanted):
            raise HeldDepartureNotFound
        for email in dict.fromkeys(wanted):
            await decide(work, organization, held[email])
        return wanted

    done = with_work(do)
    if as_json:
        print_json({word: done})
        return
    console.print(f"{len(done)} departures {word}.")


def _outcome(preview: Preview) -> str:
    if not preview.is_managed:
        return "stay: the account is not managed"
    if preview.is_kept:
        return "stay: the organization keeps them"
    return "wait for an administrator" if preview.is_held else "be cancelled"


def _shown_request(request: LoggedRequest) -> dict[str, object]:
    return {
        "at": request.at,
        "token": request.token_name,
        "method": request.method,
        "path": request.path,
        "status": request.status,
        "userId": request.member_id,
        "userName": request.user_name,
        "detail": request.detail,
    }
