"""payment …: connected accounts of a payment provider, what was paid to them, and whether both books agree."""

import sys
from datetime import timedelta
from typing import Annotated

import typer

from openslot.cli.command import Limit, PageNumber, command, group
from openslot.cli.organizations import BY_OPERATOR
from openslot.cli.output import Answer, TableRows, pick
from openslot.domains.accounts.models import Organization
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.accounts.organizations.operations import get_organization
from openslot.domains.change_log.models import ChangeAction, NewChange
from openslot.domains.change_log.operations import log_change
from openslot.domains.payments import words
from openslot.domains.payments.connections.accounts import notice_url
from openslot.domains.payments.connections.operations import (
    AccountOwner,
    AccountReplacement,
    CheckedAccount,
    check_payment_account,
    connect_payment_account,
    disconnect_payment_account,
    end_open_checkouts,
    get_payment_connection,
    name_payment_account,
)
from openslot.domains.payments.models import (
    ConnectionWanted,
    ListedPayment,
    PaymentConnection,
    PaymentFilter,
    StoredPayment,
    StoredRefund,
)
from openslot.domains.payments.operations import get_payment, list_payments, list_refunds, refund_payment
from openslot.domains.payments.reconciliation import reconcile
from openslot.domains.payments.rules import status_of
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Invalid
from openslot.platform.core.ids import parse_id
from openslot.platform.core.work import Runtime, Work

app = group("Payments.")

PaymentId = Annotated[str, typer.Argument(help="Id of the payment, from `payment list`")]
STATUSES = tuple(each for each in words.STATUSES if each != "not_required")
OfUser = Annotated[str | None, typer.Option("--user", help="User's email address")]
OfOrganization = Annotated[
    str | None, typer.Option("--organization", help="Instead of a user: an organization, for its members")
]
STAYS = (
    "Disconnect the payment account? Nobody can pay any more, and checkouts that are open end. Paid bookings stay, "
    "and can be refunded only in Stripe."
)


@command(app, "connect")
async def connect_account(
    runtime: Runtime,
    *,
    user: OfUser = None,
    organization: OfOrganization = None,
    key_stdin: Annotated[
        bool, typer.Option("--key-stdin", help="Read the restricted or secret key from standard input")
    ] = False,
    notice_secret: Annotated[
        str | None,
        typer.Option(
            "--notice-secret", help="Signing secret of an endpoint that you have registered in Stripe by hand"
        ),
    ] = None,
    is_agreed: Annotated[bool, typer.Option("--yes", help="Do not ask before another account is replaced")] = False,
) -> Answer:
    """Connect a Stripe account, or give a connected one another key; prints where Stripe sends its notices.

    Asks first if another account is connected, whose place it takes.
    """
    if not key_stdin:
        raise Invalid("Specify --key-stdin and pass the key on standard input")
    work = runtime.work(OPERATOR)
    owner = await _find_owner(work, user, organization)
    wanted = ConnectionWanted(key=sys.stdin.readline().strip(), notice_secret=notice_secret)
    account = await check_payment_account(work, owner, wanted)
    if account.known is not None and account.replacement is not None and not is_agreed:
        question = _ask(owner, account, account.known, account.replacement)
        typer.confirm(question, abort=True, err=True)
    async with work.transaction():
        connection = await connect_payment_account(work, owner, account)
        await _log(work, owner, ChangeAction.PAYMENTS_CONNECTED, connection)
    url = notice_url(runtime.settings, connection.id)
    shown = pick(connection, "id mode account_id account_name", notice_url=url)
    return Answer(shown, f"Connected in {connection.mode} mode: {connection.id}\nNotices: {url}")


@command(app, "disconnect", confirm=STAYS)
async def disconnect_account(runtime: Runtime, *, user: OfUser = None, organization: OfOrganization = None) -> Answer:
    """Delete a connection's key; paid bookings stay, and can be refunded only in Stripe."""
    work = runtime.work(OPERATOR)
    owner = await _find_owner(work, user, organization)
    connection = await get_payment_connection(work, owner)
    leaves_open = await end_open_checkouts(work, connection)
    async with work.transaction():
        await disconnect_payment_account(work, owner, leaves_open=leaves_open)
        await _log(work, owner, ChangeAction.PAYMENTS_DISCONNECTED, connection)
    return Answer({"disconnected": connection.id}, "The payment account is disconnected.")


@command(app, "list")
async def list_host_payments(
    work: Work,
    user: Annotated[str | None, typer.Option("--user", help="Only payments of this host, by email address")] = None,
    status: Annotated[str | None, typer.Option("--status", help=f"One of: {', '.join(STATUSES)}")] = None,
    page: PageNumber = 1,
    limit: Limit = 50,
) -> Answer:
    """List payments, newest first: all that were ever paid, or those of one status."""
    if status is not None and status not in STATUSES:
        raise Invalid(f"--status must be one of {', '.join(STATUSES)}")
    host = await get_user_by_email(work, user) if user else None
    found, total = await list_payments(work, host, PaymentFilter(status=status), page=page, limit=limit)
    rows = [
        (
            each.payment.id,
            each.payment.paid_at,
            status_of(each.payment),
            _format(each.payment),
            each.payment.mode,
            each.invitee_email,
            each.event_type_name,
        )
        for each in found
    ]
    columns = ("Id", "Paid at", "Status", "Amount", "Mode", "Invitee", "Event type")
    nothing = f"Page {page} is empty; there are {total} payments." if total else "No payments."
    return Answer(
        {"payments": [_shape_listed(each) for each in found], "total": total}, TableRows(columns, rows, nothing)
    )


@command(app, "show")
async def show_payment(work: Work, payment_id: PaymentId) -> Answer:
    """Show one payment with its refunds."""
    payment = await get_payment(work, None, parse_id(payment_id))
    refunds = await list_refunds(work, payment)
    lines = [
        f"{status_of(payment)}: {_format(payment)} ({payment.mode} mode)",
        f"Booking: {payment.booking_id}",
        f"Checkout: {payment.session_id or 'not opened'}; payment: {payment.intent_id or 'none yet'}",
        *(f"Refund {each.id}: {_format(payment, each.amount)}, {each.state} ({each.reason})" for each in refunds),
    ]
    lines += [f"Needs attention: {problem}" for problem in payment.problems]
    return Answer(_shape(payment) | {"refunds": [_shape_refund(each) for each in refunds]}, "\n".join(lines))


@command(app, "refund", confirm="Refund the payment {payment_id}? The money can't be taken back.")
async def give_payment_back(
    work: Work,
    payment_id: PaymentId,
    amount: Annotated[
        int | None, typer.Option("--amount", help="In the currency's smallest unit [default: all that is left]")
    ] = None,
) -> Answer:
    """Refund a payment, all of it or a part. A running worker asks Stripe for it at once."""
    refund = await refund_payment(work, None, parse_id(payment_id), amount=amount)
    payment = await get_payment(work, None, refund.payment_id)
    text = f"{_format(payment, refund.amount)} will be refunded. See: openslot payment show {payment.id}"
    return Answer(_shape_refund(refund) | {"paymentId": payment.id}, text)


@command(app, "reconcile")
async def reconcile_payments(
    runtime: Runtime,
    user: Annotated[str | None, typer.Option("--user", help="Only payments of this host, by email address")] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="How many days back")] = 30,
) -> Answer:
    """Compare payments with Stripe and name every difference; exits with 1 if there is one. Nothing is changed."""
    work = runtime.work(OPERATOR)
    host = await get_user_by_email(work, user) if user else None
    result = await reconcile(runtime, host_id=host.id if host else None, since=work.now - timedelta(days=days))
    rows = [(each.payment_id, each.field, each.ours, each.theirs) for each in result.differences]
    nothing = f"No differences. Payments compared: {result.checked}."
    warnings = [f"Payments not compared: {each.payments}. {each.reason}." for each in result.unread]
    table = TableRows(("Payment", "Field", "Here", "Stripe"), rows, nothing)
    return Answer(result, table, warnings, exit_code=1 if result.differences or result.unread else 0)


async def _find_owner(work: Work, user: str | None, organization: str | None) -> AccountOwner:
    if (user is None) == (organization is None):
        raise Invalid("Specify --user or --organization")
    if user is not None:
        return await get_user_by_email(work, user)
    return await get_organization(work, organization or "")


def _ask(
    owner: AccountOwner, account: CheckedAccount, known: PaymentConnection, replacement: AccountReplacement
) -> str:
    """Say what the page says before another account is replaced."""
    count, owners = replacement.following.event_types, replacement.following.owners
    members = f", of {owners} members, who are told by email" if count and isinstance(owner, Organization) else ""
    return (
        f"{account.name} ({account.found.mode} mode) takes the place of {name_payment_account(known)} "
        f"({known.mode} mode).\nEvent types that will name the new account: {count}{members}.\n"
        "What was paid to the old account can then be refunded only in Stripe. "
        f"Upcoming bookings that are paid: {replacement.upcoming}.\nReplace the payment account?"
    )


async def _log(work: Work, owner: AccountOwner, action: ChangeAction, connection: PaymentConnection) -> None:
    if isinstance(owner, Organization):
        after = {"mode": connection.mode} if action is ChangeAction.PAYMENTS_CONNECTED else {}
        change = NewChange(
            action=action,
            author=BY_OPERATOR,
            subject=name_payment_account(connection),
            subject_id=connection.id,
            organization_id=owner.id,
            after=after,
        )
        await log_change(work, change)


def _format(payment: StoredPayment, amount: int | None = None) -> str:
    """Write an amount as the REST API and `--amount` do, in the currency's smallest unit."""
    return f"{payment.price.amount if amount is None else amount} {payment.price.currency}"


def _shape(payment: StoredPayment) -> dict[str, object]:
    return pick(
        payment,
        "id booking_id mode refunded_amount refund_policy receipt_url session_id intent_id dispute problem"
        " paid_at created_at",
        status=status_of(payment),
        amount=payment.price.amount,
        currency=payment.price.currency,
    )


def _shape_listed(listed: ListedPayment) -> dict[str, object]:
    return _shape(listed.payment) | pick(listed, "invitee_name invitee_email event_type_name starts_at")


def _shape_refund(refund: StoredRefund) -> dict[str, object]:
    return pick(refund, "id amount reason state vendor_id error created_at updated_at")
