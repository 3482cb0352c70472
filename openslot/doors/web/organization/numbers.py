"""Pages: an organization's numbers for messages and calls, which all members use who have none of their own."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct

from openslot.domains.accounts.models import Organization, User
from openslot.domains.accounts.operations import find_user_by_email, list_users_by_id
from openslot.domains.accounts.organizations.operations import get_organization_by_id
from openslot.domains.change_log.models import ChangeAction
from openslot.domains.messaging.connections.models import MessagingConnection
from openslot.domains.messaging.connections.operations import (
    NO_MEMBER,
    CheckedNumber,
    allow_cancelling_by_message,
    check_number,
    choose_number_host,
    connect_messaging_number,
    disconnect_messaging_number,
    get_number_connection,
    list_number_connections,
    send_messaging_test,
    set_number_countries,
    set_number_template,
)
from openslot.doors.http.doors import Exchange
from openslot.doors.web.shared.numbers import (
    CANCELLING_NAMES,
    NAMES,
    TESTS,
    TRIES,
    CancellingForm,
    CountriesForm,
    NumberForm,
    NumberTokenForm,
    TemplateForm,
    TestMessageForm,
    check_token,
    describe,
    describe_number,
    done_of,
)
from openslot.doors.web.shared.organization import (
    begin_administrator_change,
    get_administered_membership,
    organization_page,
)
from openslot.doors.web.shared.pages import redirect
from openslot.platform.core.countries import read_countries, write_countries
from openslot.platform.core.errors import Conflict, Invalid
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work
from openslot.platform.routing import Form, Response, get, post

HERE = "/organization/messages"


class DefaultHostForm(Struct, frozen=True, kw_only=True):
    host: Annotated[str, Meta(pattern=LINE, max_length=254)] = ""


@get("/organization/messages")
async def show_organization_numbers(
    request: Exchange, work: Work, user: User, form: Form[NumberForm] = Form()
) -> Response:
    organization = await _get_organization(request, work)
    numbers = await list_number_connections(work, organization)
    own = get_administered_membership(request)
    return organization_page("numbers.html", request, own, here=HERE, form=form, **describe(work, numbers))


@post(
    "/organization/messages",
    transaction="none",
    limit=TRIES,
    shows=show_organization_numbers,
    at={Conflict: "number"},
    names=NAMES,
)
async def connect_organization_number(request: Exchange, work: Work, user: User, form: Form[NumberForm]) -> Response:
    organization = await _get_organization(request, work)
    checked = await check_number(work, organization, form.get().wanted)
    made = await _keep(request, work, user, checked)
    return redirect(f"{HERE}/{made.id}?done={done_of(checked)}")


@get("/organization/messages/{connection_id}")
async def show_organization_number(
    request: Exchange, work: Work, user: User, connection_id: UUID, form: Form[Any] = Form()
) -> Response:
    own = get_administered_membership(request)
    connection = await get_number_connection(work, await _get_organization(request, work), connection_id)
    host = form.of(DefaultHostForm).begin({"host": await _find_default_host(work, connection)})
    shown = describe_number(work, connection, form)
    return organization_page("number.html", request, own, here=HERE, form=form, host=host, **shown)


@post(
    "/organization/messages/{connection_id}/token",
    transaction="none",
    limit=TRIES,
    shows=show_organization_number,
    at={Conflict: "token"},
    names={"account": "token", "number": "token"},
)
async def replace_organization_token(
    request: Exchange, work: Work, user: User, connection_id: UUID, form: Form[NumberTokenForm]
) -> Response:
    organization = await _get_organization(request, work)
    await _keep(request, work, user, await check_token(work, organization, connection_id, form.get().token))
    return redirect(f"{HERE}/{connection_id}?done=replaced")


@post(
    "/organization/messages/{connection_id}/test",
    transaction="none",
    limit=TESTS,
    shows=show_organization_number,
    at={Conflict: "phone"},
)
async def send_organization_test(
    request: Exchange, work: Work, user: User, connection_id: UUID, form: Form[TestMessageForm]
) -> Response:
    organization = await _get_organization(request, work)
    connection = await get_number_connection(work, organization, connection_id)
    await send_messaging_test(work, connection, recipient=form.get().phone.strip(), name=organization.name)
    return redirect(f"{HERE}/{connection_id}?done=tested")


@post(
    "/organization/messages/{connection_id}/host",
    shows=show_organization_number,
    names={"defaultHost": "host"},
)
async def choose_default_host(
    request: Exchange, work: Work, user: User, connection_id: UUID, form: Form[DefaultHostForm]
) -> Response:
    """Choose who gets messages from people whom no member has written with."""
    change = await begin_administrator_change(request, work, user)
    before = await get_number_connection(work, change.organization, connection_id)
    was, email = await _find_default_host(work, before), form.get().host.strip()
    host = await find_user_by_email(work, email) if email else None
    if email and host is None:
        raise Invalid(details={"host": NO_MEMBER})
    await choose_number_host(work, change.organization, connection_id, host.id if host else None)
    after = {"default_host": host.email if host else ""}
    await change.log(ChangeAction.NUMBER_CHANGED, before.number, before.id, before={"default_host": was}, after=after)
    return redirect(f"{HERE}/{connection_id}?done=saved")


@post("/organization/messages/{connection_id}/cancelling", shows=show_organization_number, names=CANCELLING_NAMES)
async def allow_cancelling_for_members(
    request: Exchange, work: Work, user: User, connection_id: UUID, form: Form[CancellingForm]
) -> Response:
    """Choose whether people cancel a meeting by replying C to its reminder."""
    change, can_cancel = await begin_administrator_change(request, work, user), form.get().can_cancel
    was = (await get_number_connection(work, change.organization, connection_id)).can_cancel
    made = await allow_cancelling_by_message(work, change.organization, connection_id, can_cancel=can_cancel)
    before, after = {"can_cancel": was}, {"can_cancel": can_cancel}
    await change.log(ChangeAction.NUMBER_CHANGED, made.number, made.id, before=before, after=after)
    return redirect(f"{HERE}/{connection_id}?done=saved")


@post("/organization/messages/{connection_id}/countries", shows=show_organization_number)
async def save_organization_countries(
    request: Exchange, work: Work, user: User, connection_id: UUID, form: Form[CountriesForm]
) -> Response:
    """Choose the countries that members' invitees get messages in."""
    change = await begin_administrator_change(request, work, user)
    before = await get_number_connection(work, change.organization, connection_id)
    countries = read_countries(form.get().countries)
    after = await set_number_countries(work, change.organization, connection_id, countries)
    was, now = {"countries": write_countries(before.countries)}, {"countries": write_countries(after.countries)}
    await change.log(ChangeAction.NUMBER_CHANGED, before.number, before.id, before=was, after=now)
    return redirect(f"{HERE}/{connection_id}?done=saved")


@post("/organization/messages/{connection_id}/template", shows=show_organization_number)
async def save_organization_template(
    request: Exchange, work: Work, user: User, connection_id: UUID, form: Form[TemplateForm]
) -> Response:
    """Choose the template by which members' invitees are reminded on WhatsApp."""
    change = await begin_administrator_change(request, work, user)
    before = await get_number_connection(work, change.organization, connection_id)
    after = await set_number_template(work, change.organization, connection_id, form.get().template.strip())
    was, now = {"template": before.template or ""}, {"template": after.template or ""}
    await change.log(ChangeAction.NUMBER_CHANGED, before.number, before.id, before=was, after=now)
    return redirect(f"{HERE}/{connection_id}?done=saved")


@get("/organization/messages/{connection_id}/disconnect")
async def ask_to_disconnect_organization_number(
    request: Exchange, work: Work, user: User, connection_id: UUID
) -> Response:
    own = get_administered_membership(request)
    connection = await get_number_connection(work, await _get_organization(request, work), connection_id)
    return organization_page("disconnect_number.html", request, own, here=HERE, **describe_number(work, connection))


@post("/organization/messages/{connection_id}/disconnect")
async def disconnect_organization_number(request: Exchange, work: Work, user: User, connection_id: UUID) -> Response:
    change = await begin_administrator_change(request, work, user)
    ended = await disconnect_messaging_number(work, change.organization, connection_id)
    await change.log(ChangeAction.NUMBER_DISCONNECTED, ended.number, ended.id)
    return redirect(f"{HERE}?done=disconnected")


async def _get_organization(request: Exchange, work: Work) -> Organization:
    return await get_organization_by_id(work, get_administered_membership(request).organization_id)


async def _keep(request: Exchange, work: Work, user: User, checked: CheckedNumber) -> MessagingConnection:
    """Keep a number that was checked, if the user may still decide."""
    async with work.transaction():
        change = await begin_administrator_change(request, work, user)
        made = await connect_messaging_number(work, change.organization, checked)
        action = ChangeAction.NUMBER_CHANGED if checked.is_same else ChangeAction.NUMBER_CONNECTED
        await change.log(action, made.number, made.id, after={"channel": made.channel})
    return made


async def _find_default_host(work: Work, connection: MessagingConnection) -> str:
    if connection.default_host_id is None:
        return ""
    found = await list_users_by_id(work, [connection.default_host_id])
    return next((host.email for host in found.values()), "")
