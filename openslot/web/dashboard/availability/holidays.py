"""The form of the public holidays of a schedule."""

from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.errors import Conflict, Invalid
from openslot.core.work import Work
from openslot.routing import Form, Response, post
from openslot.schedules import changes
from openslot.schedules.models import HolidayCalendar
from openslot.web.dashboard.availability.schedule import schedule_page
from openslot.web.pages import redirect


class HolidaysForm(Struct, frozen=True, kw_only=True):
    """A country and a region of it."""

    country: str = ""
    region: str = ""
    shown_country: str = ""
    """The country whose regions were shown."""
    version: str = ""


@post("/availability/{schedule_id}/holidays")
async def change_holidays(work: Work, user: User, schedule_id: UUID, form: Form[HolidaysForm]) -> Response:
    """Save whose public holidays are free."""
    country, region = form["country"], form["region"]
    # The regions on the page are those of the country before.
    if country != form["shown_country"]:
        region = ""
    calendar = HolidayCalendar(country, region or None) if country else None
    try:
        await changes.change_holidays(work, user, schedule_id, calendar, version=form["version"])
    except Invalid as refusal:
        faults = {field.rpartition(".")[2]: fault for field, fault in refusal.faults.items()}
        return await schedule_page(work, user, schedule_id, holiday_form=form.with_faults(faults), status=400)
    except Conflict as refusal:
        changed = form.with_faults({"country": refusal.sentence})
        return await schedule_page(work, user, schedule_id, holiday_form=changed, status=409)
    return redirect(f"/availability/{schedule_id}?done=holidays#holidays")
