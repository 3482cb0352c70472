"""Pages: a host's CRMs: connect one, see whether it works and what it has refused, test it, disconnect it."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import User
from openslot.domains.crm import operations
from openslot.domains.crm.models import CrmStanding, CrmWanted
from openslot.domains.crm.ports import CrmVendor
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.errors import Conflict, NotFound
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text, recall
from openslot.platform.routing import Form, RateLimit, Response, get, post

HERE = "/settings/crm"
# Each try sends a secret to somebody else, and nobody is to try secrets through this installation.
TRIES = RateLimit("crm-secrets", 30)
NOTICES = {
    "connected": Text("The CRM is connected. Bookings are written to it from now on."),
    "tested": Text("The CRM works."),
    "failed": Text("The CRM does not work. The reason is below."),
    "disconnected": Text("The CRM is disconnected, and its secret is deleted here."),
}
STANDINGS = {
    CrmStanding.CONNECTED: (Text("Connected"), "good"),
    CrmStanding.FAILING: (Text("Can't be reached"), "warn"),
    CrmStanding.NEEDS_RECONNECT: (Text("Needs to be connected again"), "bad"),
}
WITH_FIELDS = frozenset({"hubspot"})


class CrmForm(Struct, frozen=True, kw_only=True):
    account_url: Annotated[str, Meta(pattern=LINE, max_length=2048)] = ""
    secret: Annotated[str, Meta(pattern=LINE, max_length=500)] = ""


@get("/settings/crm")
async def show_crms(work: Work, user: User) -> Response:
    vendors = {vendor.name: vendor.label for vendor in operations.list_vendors(work.runtime)}
    connections = await operations.list_connections(work, user)
    failures = await operations.list_crm_failures(work, user) if connections else []
    return page(
        "dashboard/crm/list.html",
        user,
        here=HERE,
        notices=NOTICES,
        vendors=vendors,
        connections=[(each, *STANDINGS[each.standing]) for each in connections],
        labels={each.id: each.label for each in connections},
        with_fields=WITH_FIELDS,
        failures=failures,
        show_fault=recall,
    )


@get("/settings/crm/connect/{vendor}")
async def show_crm_form(work: Work, user: User, vendor: str, form: Form[CrmForm] = Form()) -> Response:
    return page("dashboard/crm/connect.html", user, here=HERE, vendor=_get_vendor(work, vendor), form=form)


@post(
    "/settings/crm/connect/{vendor}",
    transaction="none",
    limit=TRIES,
    shows=show_crm_form,
    at={Conflict: "form"},
    names={"account": "account_url"},
)
async def connect_crm(work: Work, user: User, vendor: str, form: Form[CrmForm]) -> Response:
    """Connect a CRM; a secret that is made for it is shown once, in this response."""
    given = form.get()
    wanted = CrmWanted(vendor=_get_vendor(work, vendor).name, account=given.account_url, secret=given.secret)
    made = await operations.connect(work, user, wanted)
    if made.new_secret is None:
        return redirect(f"{HERE}?done=connected")
    return page("dashboard/crm/secret.html", user, here=HERE, connection=made.connection, secret=made.new_secret)


@post("/settings/crm/{connection_id}/test", transaction="none", limit=TRIES)
async def test_crm(work: Work, user: User, connection_id: UUID) -> Response:
    """Ask a CRM whether it can be used; the list shows the answer."""
    connection = await operations.get_crm_connection(work, user, connection_id)
    fault = await operations.check_connection(work, connection)
    return redirect(f"{HERE}?done={'failed' if fault else 'tested'}")


@get("/settings/crm/{connection_id}/disconnect")
async def ask_to_disconnect_crm(work: Work, user: User, connection_id: UUID) -> Response:
    connection = await operations.get_crm_connection(work, user, connection_id)
    return page("dashboard/crm/disconnect.html", user, here=HERE, connection=connection)


@post("/settings/crm/{connection_id}/disconnect")
async def disconnect_crm(work: Work, user: User, connection_id: UUID) -> Response:
    await operations.disconnect(work, user, connection_id)
    return redirect(f"{HERE}?done=disconnected")


def _get_vendor(work: Work, name: str) -> CrmVendor:
    found = next((each for each in operations.list_vendors(work.runtime) if each.name == name), None)
    if found is None:
        raise NotFound
    return found
