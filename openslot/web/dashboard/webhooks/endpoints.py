"""Pages: the list of webhook endpoints, and the forms that add and change one."""

from typing import Literal
from uuid import UUID

from msgspec import Struct

from openslot.accounts.models import User
from openslot.core.errors import Invalid
from openslot.core.outbound import OutboundReason, OutboundRefused
from openslot.core.work import Work
from openslot.i18n import Text
from openslot.routing import Form, Request, Response, get, post
from openslot.web.dashboard.curl import curl
from openslot.web.dashboard.webhooks.rows import describe_endpoint, group_events
from openslot.web.pages import page, redirect
from openslot.webhooks import operations as webhooks
from openslot.webhooks.errors import TooManyWebhooks
from openslot.webhooks.models import Endpoint, EndpointChanges, EndpointRef, EndpointWanted
from openslot.webhooks.rules import MAX_ENDPOINTS

MISSING = Text("Enter the address that receives the events")
CHOOSE = Text("Choose at least one event")
SECURE = Text("must begin with https://")
PRIVATE = Text("must lead to a public address")
URL_FAULTS = {
    OutboundReason.TOO_LONG: Text("must have at most 2048 characters"),
    OutboundReason.CHARACTERS: Text("must be an address of printable ASCII characters, without spaces"),
    OutboundReason.SCHEME: SECURE,
    OutboundReason.INSECURE: SECURE,
    OutboundReason.USERINFO: Text("must not contain a user name or password"),
    OutboundReason.HOST: Text("must have a full domain name"),
    OutboundReason.PORT: Text("must have a port that is open to outgoing requests, such as 443"),
    OutboundReason.NUMBER: Text("must have an IPv4 address of four decimal numbers"),
    OutboundReason.NAME: PRIVATE,
    OutboundReason.ADDRESS: PRIVATE,
}
HERE = "/settings/webhooks"
NOTICES = {"deleted": Text("The endpoint and its log were deleted.")}


class EndpointForm(Struct, frozen=True, kw_only=True):
    """An endpoint to add, or what to change about one."""

    url: str = ""
    which: Literal["all", "chosen"] = "all"
    events: list[str] = []
    description: str = ""

    @property
    def wanted_events(self) -> tuple[str, ...]:
        return tuple(self.events) if self.which == "chosen" else ()


def check_endpoint_form(form: Form[EndpointForm]) -> Form[EndpointForm]:
    """Ask for an address, and for an event where only chosen ones are to be sent."""
    sent = form.sent
    if sent is None:
        return form
    faults = {} if sent.url.strip() else {"url": MISSING}
    if sent.which == "chosen" and not sent.events:
        faults["events"] = CHOOSE
    return form.with_faults(faults)


def name_url_fault(refusal: OutboundRefused) -> dict[str, str]:
    """Say at the URL's field why it is refused."""
    return {"url": URL_FAULTS.get(refusal.reason, refusal.sentence)}


def begin_form(endpoint: Endpoint) -> Form[EndpointForm]:
    return Form(
        values={
            "url": endpoint.url,
            "which": "chosen" if endpoint.events else "all",
            "description": endpoint.description or "",
        },
        sent=EndpointForm(url=endpoint.url, events=list(endpoint.events)),
    )


@get(HERE)
async def show_endpoints(request: Request, work: Work, user: User) -> Response:
    """List the endpoints with how they are doing."""
    found = await webhooks.list_overview(work, user)
    return page(
        "dashboard/webhooks/endpoints.html",
        user,
        here=HERE,
        notice=NOTICES.get(request.query.get("done", "")),
        rows=[describe_endpoint(each, user, now=work.now) for each in found],
        max_=MAX_ENDPOINTS,
        is_full=len(found) >= MAX_ENDPOINTS,
        curl=curl(work, user, "/events", query={"limit": "100"}),
    )


@get(f"{HERE}/new")
async def show_new_endpoint(user: User) -> Response:
    """Ask for the address and the events."""
    return _new_page(user, Form(values={"which": "all"}))


@post(HERE)
async def add_endpoint(work: Work, user: User, form: Form[EndpointForm]) -> Response:
    """Add an endpoint and show its secret once, in this response."""
    form = check_endpoint_form(form)
    if form.faults:
        return _new_page(user, form)
    sent = form.get()
    wanted = EndpointWanted(url=sent.url.strip(), events=sent.wanted_events, description=sent.description)
    try:
        endpoint, secret = await webhooks.add_endpoint(work, user, wanted)
    except OutboundRefused as refusal:
        return _new_page(user, form.with_faults(name_url_fault(refusal)))
    except (Invalid, TooManyWebhooks) as refusal:
        return _new_page(user, form.with_faults(refusal.faults or {"form": refusal.sentence}))
    return page(
        "dashboard/webhooks/secret.html",
        user,
        here=HERE,
        endpoint=endpoint,
        secret=secret,
        until=None,
    )


@get(f"{HERE}/{{endpoint_id}}/edit")
async def show_endpoint_form(work: Work, user: User, endpoint_id: UUID) -> Response:
    endpoint = await webhooks.get_endpoint(work, EndpointRef(endpoint_id, user.id))
    return _edit_page(user, endpoint_id, begin_form(endpoint))


@post(f"{HERE}/{{endpoint_id}}/edit")
async def change_endpoint(work: Work, user: User, endpoint_id: UUID, form: Form[EndpointForm]) -> Response:
    """Change an endpoint's address, events or description."""
    ref, form = EndpointRef(endpoint_id, user.id), check_endpoint_form(form)
    await webhooks.get_endpoint(work, ref)
    if form.faults:
        return _edit_page(user, endpoint_id, form)
    sent = form.get()
    changes = EndpointChanges(url=sent.url.strip(), events=sent.wanted_events, description=sent.description)
    try:
        await webhooks.change_endpoint(work, ref, changes)
    except OutboundRefused as refusal:
        return _edit_page(user, endpoint_id, form.with_faults(name_url_fault(refusal)))
    except Invalid as refusal:
        return _edit_page(user, endpoint_id, form.with_faults(refusal.faults))
    return redirect(f"{HERE}/{endpoint_id}?done=changed")


def _new_page(user: User, form: Form[EndpointForm]) -> Response:
    return _form_page("dashboard/webhooks/new.html", user, form)


def _edit_page(user: User, endpoint_id: UUID, form: Form[EndpointForm]) -> Response:
    return _form_page("dashboard/webhooks/edit.html", user, form, endpoint_id=endpoint_id)


def _form_page(template: str, user: User, form: Form[EndpointForm], *, endpoint_id: UUID | None = None) -> Response:
    return page(
        template,
        user,
        here=HERE,
        status=400 if form.faults else 200,
        form=form,
        chosen=form.sent.events if form.sent else (),
        groups=group_events(),
        endpoint_id=endpoint_id,
    )
