"""Pages: the account that the invitees of an organization's members pay to."""

from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import get_organization_by_id
from openslot.domains.change_log.models import ChangeAction
from openslot.domains.payments.connections.operations import (
    connect_payment_account,
    disconnect_payment_account,
    end_open_checkouts,
    find_payment_connection,
    get_payment_connection,
    name_payment_account,
    preview_payment_disconnection,
)
from openslot.doors.http.doors import Exchange
from openslot.doors.web.shared.organization import (
    FIELD,
    begin_administrator_change,
    get_administered_membership,
    organization_page,
)
from openslot.doors.web.shared.pages import redirect
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

HERE = "/organization/payments"


@get("/organization/payments")
async def show_organization_payments(
    request: Exchange, work: Work, user: User, form: Form[PaymentKeyForm] = Form()
) -> Response:
    own = get_administered_membership(request)
    organization = await get_organization_by_id(work, own.organization_id)
    connection = await find_payment_connection(work, organization)
    return organization_page(
        "payments.html", request, own, here=HERE, notices=NOTICES, form=form, **describe(work, connection)
    )


@post(
    "/organization/payments",
    transaction="none",
    limit=TRIES,
    shows=show_organization_payments,
    at={Conflict: "key"},
    names=NAMES,
)
async def connect_organization_payments(
    request: Exchange, work: Work, user: User, form: Form[PaymentKeyForm]
) -> Response:
    own = get_administered_membership(request)
    organization = await get_organization_by_id(work, own.organization_id)
    account, is_agreed = await check(work, organization, form.get())
    if account.replacement is not None and not is_agreed:
        question = ask(work, organization, account, account.replacement, form.get())
        fields = question.pop("fields") | {FIELD: organization.id}
        return organization_page(QUESTION, request, own, here=HERE, fields=fields, **question)
    async with work.transaction():
        change = await begin_administrator_change(request, work, user)
        made = await connect_payment_account(work, change.organization, account)
        after = {"mode": made.mode}
        await change.log(ChangeAction.PAYMENTS_CONNECTED, name_payment_account(made), made.id, after=after)
    return redirect(f"{HERE}?done={done_of(account)}")


@get("/organization/payments/disconnect")
async def ask_to_disconnect_organization_payments(
    request: Exchange, work: Work, user: User, form: Form[DisconnectionForm] = Form()
) -> Response:
    own = get_administered_membership(request)
    organization = await get_organization_by_id(work, own.organization_id)
    connection = await find_payment_connection(work, organization)
    if connection is None:
        return redirect(HERE)
    preview = await preview_payment_disconnection(work, connection)
    return organization_page("disconnect_payments.html", request, own, here=HERE, form=form, preview=preview)


@post(
    "/organization/payments/disconnect",
    transaction="none",
    shows=ask_to_disconnect_organization_payments,
    at={Conflict: "form"},
)
async def disconnect_organization_payments(
    request: Exchange, work: Work, user: User, form: Form[DisconnectionForm]
) -> Response:
    own = get_administered_membership(request)
    organization = await get_organization_by_id(work, own.organization_id)
    leaves_open = await end_open_checkouts(work, await get_payment_connection(work, organization))
    async with work.transaction():
        change = await begin_administrator_change(request, work, user)
        ended = await disconnect_payment_account(work, change.organization, leaves_open=leaves_open)
        await change.log(ChangeAction.PAYMENTS_DISCONNECTED, name_payment_account(ended), ended.id)
    return redirect(f"{HERE}?done=disconnected")
