"""What every page with the form of an event type is shown with."""

from msgspec.structs import replace

from openslot.accounts.models import User
from openslot.core.work import Work
from openslot.event_types.editions import edition_of
from openslot.event_types.models import EventType
from openslot.event_types.rules import MOST_QUESTIONS
from openslot.http.security import PAGE_POLICY
from openslot.routing import Form, Response
from openslot.schedules import operations as schedules
from openslot.web.dashboard.event_types import choices
from openslot.web.dashboard.event_types.forms import EventTypeForm, write_values
from openslot.web.dashboard.event_types.questions import list_typed
from openslot.web.pages import page

WITH_FRAMES = f"{PAGE_POLICY.decode()}; frame-src 'self'"


def begin_values(event_type: EventType) -> dict[str, str]:
    """Write what the form of a saved event type begins with."""
    return {**write_values(event_type), "edition": edition_of(event_type)}


async def form_page(
    work: Work, user: User, template: str, form: Form[EventTypeForm], *, status: int, focus: str = "", **values: object
) -> Response:
    """Show a form with all that it offers to choose from, and let the page frame the preview."""
    own = await schedules.list_schedules(work, user)
    shown = page(
        template,
        user,
        here="/event-types",
        status=status,
        locale=None,
        form=form,
        focus=focus,
        base=f"{work.runtime.settings.public_url}/{user.username}/",
        questions=list_typed(form.values),
        most_questions=MOST_QUESTIONS,
        schedules={str(each.id): each.name for each in own},
        locations=choices.LOCATIONS,
        windows=choices.WINDOWS,
        units=choices.UNITS,
        kinds=choices.KINDS,
        currencies=_list_currencies(form["currency"]),
        open_sections=[name for name, fields in choices.SECTIONS.items() if _is_open(fields, form, focus)],
        **values,
    )
    return replace(shown, headers={**shown.headers, "content-security-policy": WITH_FRAMES})


def _list_currencies(current: str) -> dict[str, object]:
    """List the currencies to choose from, and the current one whatever it is."""
    known: dict[str, object] = dict(choices.CURRENCY_NAMES)
    return known if current in known or not current else {current: current, **known}


def _is_open(fields: tuple[str, ...], form: Form[EventTypeForm], focus: str) -> bool:
    return any(name.partition(".")[0] in fields for name in (*form.faults, focus))
