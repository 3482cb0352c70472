"""Pages: the account that a host's invitees pay to: connect it, give it another key, disconnect it."""

from openslot.domains.accounts.models import User
from openslot.domains.event_types.accounts.operations import list_accounts
from openslot.domains.payments.connections.operations import (
    connect_payment_account,
    disconnect_payment_account,
    end_open_checkouts,
    find_payment_connection,
    get_payment_connection,
    preview_payment_disconnection,
)
from openslot.doors.web.shared.pages import page, redirect
from openslot.doors.web.shared.payment_account import (
    NAMES,
    NOTICES,
    QUESTION,
    TRIES,
    DisconnectionForm,
    PaymentKeyForm,
    ask,
    check,
    describe,
    done_of,
)
from openslot.platform.core.errors import Conflict
from openslot.platform.core.work import Work
from openslot.platform.routing import Form, Response, get, post

HERE = "/settings/payments"


@get("/settings/payments")
async def show_payment_account(work: Work, user: User, form: Form[PaymentKeyForm] = Form()) -> Response:
    theirs = [each for each in await list_accounts(work, user.id) if each.organization]
    own = await find_payment_connection(work, user)
    shown = describe(work, own)
    return page("dashboard/payments/account.html", user, here=HERE, notices=NOTICES, form=form, theirs=theirs, **shown)


@post(
    "/settings/payments", transaction="none", limit=TRIES, shows=show_payment_account, at={Conflict: "key"}, names=NAMES
)
async def connect_payments(work: Work, user: User, form: Form[PaymentKeyForm]) -> Response:
    account, is_agreed = await check(work, user, form.get())
    if account.replacement is not None and not is_agreed:
        return page(QUESTION, user, here=HERE, **ask(work, user, account, account.replacement, form.get()))
    async with work.transaction():
        await connect_payment_account(work, user, account)
    return redirect(f"{HERE}?done={done_of(account)}")


@get("/settings/payments/disconnect")
async def ask_to_disconnect_payments(work: Work, user: User, form: Form[DisconnectionForm] = Form()) -> Response:
    connection = await find_payment_connection(work, user)
    if connection is None:
        return redirect(HERE)
    preview = await preview_payment_disconnection(work, connection)
    return page("dashboard/payments/disconnect.html", user, here=HERE, form=form, preview=preview)


@post("/settings/payments/disconnect", transaction="none", shows=ask_to_disconnect_payments, at={Conflict: "form"})
async def disconnect_payments(work: Work, user: User, form: Form[DisconnectionForm]) -> Response:
    leaves_open = await end_open_checkouts(work, await get_payment_connection(work, user))
    async with work.transaction():
        await disconnect_payment_account(work, user, leaves_open=leaves_open)
    return redirect(f"{HERE}?done=disconnected")
