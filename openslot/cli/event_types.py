"""event-type …: what can be booked."""

from typing import Annotated
from uuid import UUID

import typer
from msgspec.structs import replace

from openslot.cli.command import command, group
from openslot.cli.output import Answer
from openslot.domains.accounts.models import User
from openslot.domains.accounts.operations import get_user_by_email
from openslot.domains.event_types.accounts.operations import list_accounts
from openslot.domains.event_types.models import Money
from openslot.domains.event_types.operations import change_event_type, get_event_type_by_slug
from openslot.platform.core.errors import Invalid
from openslot.platform.core.folding import find_each
from openslot.platform.core.work import Work

OWN = "own"
app = group("Event types.")


@app.callback()
def event_type() -> None:
    """Event types."""


@command(app, "price")
async def set_price(
    work: Work,
    slug: Annotated[str, typer.Argument(help="Short name of the event type")],
    *,
    user: Annotated[str, typer.Option("--user", help="Email address of its host")],
    amount: Annotated[int | None, typer.Option(help="Price in the currency's smallest unit, such as 4900")] = None,
    currency: Annotated[str | None, typer.Option(help="Currency, such as EUR")] = None,
    refund: Annotated[
        str | None,
        typer.Option(help="What invitees who cancel get back: full, none, or until:24 for up to 24 hours before"),
    ] = None,
    account: Annotated[
        str | None,
        typer.Option(help="Account that invitees pay to: own, or the short name of the host's organization"),
    ] = None,
    free: Annotated[bool, typer.Option("--free", help="Remove the price")] = False,
) -> Answer:
    """Set what invitees pay for an event type, and what they get back when they cancel."""
    host = await get_user_by_email(work, user)
    found = await get_event_type_by_slug(work, host, slug)
    price = _read_price(found.price, amount, currency, is_free=free)
    wanted = replace(found, price=price, refund_policy=refund or found.refund_policy)
    if account is not None:
        wanted = replace(wanted, payment_connection_id=await _find_account(work, host, account))
    changed = await change_event_type(work, wanted)
    shown = {"id": changed.id, "slug": changed.slug, "price": changed.price, "refundPolicy": changed.refund_policy}
    costs = f"costs {price.amount} {price.currency} (in the smallest unit)" if price else "is free"
    return Answer(shown, f"{slug} {costs}. Refund: {changed.refund_policy}.")


async def _find_account(work: Work, host: User, named: str) -> UUID:
    usable = {each.organization_slug or OWN: each.id for each in await list_accounts(work, host.id)}
    found = await find_each(work.db, [named], usable)
    if not found:
        known = ", ".join(usable) or "none is connected"
        raise Invalid(f"{host.email} can't be paid to {named}. Accounts: {known}")
    return found[named]


def _read_price(now: Money | None, amount: int | None, currency: str | None, *, is_free: bool) -> Money | None:
    if is_free or amount == 0:
        return None
    if amount is None and currency is None:
        return now
    if amount is None or currency is None:
        raise Invalid("Specify --amount together with --currency")
    return Money(amount, currency.upper())
