"""Pages: a host's numbers for messages and calls: connect one, test it, give it another token, disconnect it."""

from typing import Any
from uuid import UUID

from openslot.domains.accounts.models import User
from openslot.domains.messaging.connections.operations import (
    allow_cancelling_by_message,
    check_number,
    connect_messaging_number,
    disconnect_messaging_number,
    get_number_connection,
    list_number_connections,
    send_messaging_test,
    set_number_countries,
    set_number_template,
)
from openslot.domains.messaging.host_numbers import list_gone, list_usable, use_number
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
from openslot.doors.web.shared.pages import page, redirect
from openslot.platform.core.countries import read_countries
from openslot.platform.core.errors import Conflict
from openslot.platform.core.work import Work
from openslot.platform.routing import Form, Response, get, post

HERE = "/settings/messages"


@get("/settings/messages")
async def show_numbers(work: Work, user: User, form: Form[NumberForm] = Form()) -> Response:
    own = await list_number_connections(work, user)
    usable, gone = await list_usable(work, user), await list_gone(work, user)
    shown = describe(work, own)
    return page("dashboard/numbers/list.html", user, form=form, usable=usable, gone=gone, here=HERE, **shown)


@post("/settings/messages", transaction="none", limit=TRIES, shows=show_numbers, at={Conflict: "number"}, names=NAMES)
async def connect_number(work: Work, user: User, form: Form[NumberForm]) -> Response:
    checked = await check_number(work, user, form.get().wanted)
    async with work.transaction():
        made = await connect_messaging_number(work, user, checked)
    return redirect(f"{HERE}/{made.id}?done={done_of(checked)}")


@get("/settings/messages/{connection_id}")
async def show_number(work: Work, user: User, connection_id: UUID, form: Form[Any] = Form()) -> Response:
    connection = await get_number_connection(work, user, connection_id)
    shown = describe_number(work, connection, form)
    return page("dashboard/numbers/number.html", user, form=form, here=HERE, **shown)


@post("/settings/messages/{connection_id}/use")
async def use_number_here(work: Work, user: User, connection_id: UUID) -> Response:
    await use_number(work, user, connection_id)
    return redirect(f"{HERE}?done=used")


@post(
    "/settings/messages/{connection_id}/token",
    transaction="none",
    limit=TRIES,
    shows=show_number,
    at={Conflict: "token"},
    names={"account": "token", "number": "token"},
)
async def replace_number_token(work: Work, user: User, connection_id: UUID, form: Form[NumberTokenForm]) -> Response:
    checked = await check_token(work, user, connection_id, form.get().token)
    async with work.transaction():
        await connect_messaging_number(work, user, checked)
    return redirect(f"{HERE}/{connection_id}?done=replaced")


@post(
    "/settings/messages/{connection_id}/test",
    transaction="none",
    limit=TESTS,
    shows=show_number,
    at={Conflict: "phone"},
)
async def send_test_message(work: Work, user: User, connection_id: UUID, form: Form[TestMessageForm]) -> Response:
    connection = await get_number_connection(work, user, connection_id)
    await send_messaging_test(work, connection, recipient=form.get().phone.strip(), name=user.name)
    return redirect(f"{HERE}/{connection_id}?done=tested")


@post("/settings/messages/{connection_id}/cancelling", shows=show_number, names=CANCELLING_NAMES)
async def allow_cancelling(work: Work, user: User, connection_id: UUID, form: Form[CancellingForm]) -> Response:
    """Choose whether people cancel a meeting by replying C to its reminder."""
    await allow_cancelling_by_message(work, user, connection_id, can_cancel=form.get().can_cancel)
    return redirect(f"{HERE}/{connection_id}?done=saved")


@post("/settings/messages/{connection_id}/countries", shows=show_number)
async def save_countries(work: Work, user: User, connection_id: UUID, form: Form[CountriesForm]) -> Response:
    """Choose the countries that a number sends messages to."""
    await set_number_countries(work, user, connection_id, read_countries(form.get().countries))
    return redirect(f"{HERE}/{connection_id}?done=saved")


@post("/settings/messages/{connection_id}/template", shows=show_number)
async def save_template(work: Work, user: User, connection_id: UUID, form: Form[TemplateForm]) -> Response:
    """Choose the template by which people are reminded on WhatsApp."""
    await set_number_template(work, user, connection_id, form.get().template.strip())
    return redirect(f"{HERE}/{connection_id}?done=saved")


@get("/settings/messages/{connection_id}/disconnect")
async def ask_to_disconnect_number(work: Work, user: User, connection_id: UUID) -> Response:
    connection = await get_number_connection(work, user, connection_id)
    return page("dashboard/numbers/disconnect.html", user, here=HERE, **describe_number(work, connection))


@post("/settings/messages/{connection_id}/disconnect")
async def disconnect_number(work: Work, user: User, connection_id: UUID) -> Response:
    await disconnect_messaging_number(work, user, connection_id)
    return redirect(f"{HERE}?done=disconnected")
