"""Pages: the first account of an empty installation."""

from functools import cache
from itertools import groupby
from zoneinfo import available_timezones

from litestar import Response, get, post
from litestar.di import NamedDependency

from openslot.access import operations as access
from openslot.accounts.models import UserWanted
from openslot.core.errors import Invalid
from openslot.core.work import Work
from openslot.people import operations as people
from openslot.web.forms import EMPTY, Field, Form, read_form
from openslot.web.pages import PageRequest, page, query_of, redirect
from openslot.web.sign_in import HOME, browser_of, with_session
from openslot.web.words import zone_name

REGIONS = {"Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"}
FIELDS = (
    Field("name", 200, "Enter your name"),
    Field("email", 254, "Enter your e-mail address"),
    Field("password", 200, "Choose a password"),
    Field("timezone", 100, "Choose your time zone"),
)
FAULTS = {
    "name": "Use 1 to 200 characters",
    "email": "This is not a complete e-mail address; it looks like name@example.com",
    "password": "Use 10 to 200 characters",
    "timezone": "Choose a time zone from the list",
}


@get("/setup")
async def show_setup(request: PageRequest, work: NamedDependency[Work]) -> Response[str]:
    """Show the form for the first account to the one who has the link."""
    token = query_of(request).get("token", "")
    await access.check_setup_link(work, token)
    return _show(request, EMPTY, token=token)


@post("/setup", status_code=303)
async def set_up(request: PageRequest, work: NamedDependency[Work]) -> Response[str]:
    """Open the first account and sign its owner in."""
    token, form = query_of(request).get("token", ""), read_form(request, *FIELDS)
    await access.check_setup_link(work, token)
    if form.faults:
        return _show(request, form, token=token, status=400)
    wanted = UserWanted(email=form["email"], name=form["name"], zone=form["timezone"])
    try:
        user = await people.set_up(work, token, wanted, password=form["password"])
    except Invalid as refusal:
        found = {name: FAULTS[name] for name in refusal.details or {} if name in FAULTS}
        return _show(request, form.with_faults(found), token=token, status=400)
    return with_session(redirect(HOME), await access.begin_session(work, user, user_agent=browser_of(request)), work)


@cache
def zones_by_region() -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """List every zone of the world that a person would name, by region."""
    names = sorted(name for name in available_timezones() if name.partition("/")[0] in REGIONS)
    return tuple(
        (region, tuple((name, zone_name(name.partition("/")[2]).replace("/", ", ")) for name in group))
        for region, group in groupby(names, key=lambda name: name.partition("/")[0])
    )


def _show(request: PageRequest, form: Form, *, token: str, status: int = 200) -> Response[str]:
    return page(request, "setup.html", status=status, form=form, token=token, regions=zones_by_region())
