"""A team's page, and the pages of its event types, which are those of a host's event types."""

from openslot.domains.accounts.models import DEFAULT_COLOR, User
from openslot.domains.availability.models import ByTeamPage
from openslot.domains.teams.hosting import list_public
from openslot.domains.teams.operations import get_team_by_slug
from openslot.doors.web.booking_page import event_type
from openslot.doors.web.booking_page.for_assistants import Format, choose_format, write_team
from openslot.doors.web.booking_page.refusals import explain_closed, limit_views
from openslot.doors.web.booking_page.sharing import draw_qr_of, preview_team, show_qr_of
from openslot.doors.web.shared.booking_forms import BookingForm
from openslot.doors.web.shared.booking_view import show
from openslot.doors.web.shared.offers import list_facts
from openslot.doors.web.shared.options import carry_source, find_source, read_options
from openslot.platform.core.work import Work
from openslot.platform.routing import Form, Request, Response, get, post


@get("/team/{team}/{slug}", is_public=True)
@limit_views
@explain_closed
async def show_team_event_type(work: Work, request: Request, team: str, slug: str) -> Response:
    """Show when a team's event type can be booked."""
    return await event_type.open_page(work, request, _name(team, slug))


@post("/team/{team}/{slug}", transaction="none")
@limit_views
@explain_closed
async def book_team_event_type(
    *, work: Work, request: Request, user: User | None, team: str, slug: str, form: Form[BookingForm]
) -> Response:
    """Book an event type of a team."""
    return await event_type.send_form(work, request, _name(team, slug), form, user)


@get("/team/{team}/{slug}/qr", is_public=True)
@limit_views
async def show_team_qr(work: Work, request: Request, team: str, slug: str) -> Response:
    """Show the code of a team's event type with what it leads to, ready to print."""
    return await show_qr_of(work, request, ByTeamPage(team, slug, read_options(request).token))


@get("/team/{team}/{slug}/qr.svg")
@limit_views
async def draw_team_qr(work: Work, request: Request, team: str, slug: str) -> Response:
    """Send the code of a team's event type as an image that can be printed at any size."""
    return await draw_qr_of(work, ByTeamPage(team, slug, read_options(request).token))


def _name(team: str, slug: str) -> event_type.NameOffer:
    return lambda options: ByTeamPage(team, slug, options.token, options.minutes)


@get("/team/{team}", is_public=True)
@limit_views
async def show_team(work: Work, request: Request, team: str) -> Response:
    """Show what can be booked with a team."""
    if (wanted := choose_format(request)) is not Format.HTML:
        return await write_team(work, team, wanted)
    options = read_options(request)
    found = await get_team_by_slug(work, team)
    offered = await list_public(work, found)
    options = carry_source(options, find_source(work, request, options))
    return show(
        "booking/team.html",
        options,
        color=offered[0].color if offered else DEFAULT_COLOR,
        team=found,
        preview=preview_team(work, found.name, found.slug),
        offers=[(each, list_facts(each, found.name, options.locale)) for each in offered],
    )
