"""Every way in which an account or a stranger has strangers mailed asks the ledger; a new way has to be listed here.

Who mails nobody but an account's owner, its administrators or people who have asked for an answer needs no allowance.
"""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from msgspec.structs import replace

import openslot
from openslot.domains.access import email_codes
from openslot.domains.access.address_changes import request_change
from openslot.domains.access.resets import operations as resets
from openslot.domains.accounts import sign_ups
from openslot.domains.accounts.invitations import operations as invitations
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.allowances.errors import AllowanceUsed
from openslot.domains.allowances.models import CauseKind, Cost, CostCause
from openslot.domains.allowances.operations import CLIENT_ADDRESS, allow_here, find_account, spend
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef, BookingWanted, Invitee
from openslot.domains.bookings.series import operations as series
from openslot.domains.bookings.series.models import OnConflict, Recurrence
from openslot.domains.event_types.models import EventType
from openslot.domains.mail.operations import mail_server
from openslot.domains.mail.reactions import SEND
from openslot.domains.people import operations as people
from openslot.domains.wait_list import operations as wait_list
from openslot.domains.wait_list.models import WaitListWanted
from openslot.platform.core.actor import OPERATOR, PUBLIC, SYSTEM, Actor, ActorKind
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime, Work
from openslot.wiring import WIRING
from tests.domains.bookings.conftest import offer
from tests.support.passwords import PASSWORD
from tests.support.wait_list import TUESDAY, book_day, offer_day

NINE = datetime(2026, 3, 16, 9, 0, tzinfo=UTC)
FROM_AFAR = "93.184.216.34"

OWNER, ANSWER, SPENT = "to the owner of an account", "to somebody who has asked", "spent by whoever causes it"
WAYS = {
    # What happens to a booking: spent by the verb, see `TELLING`.
    SEND: SPENT,
    # To people for whom the host has booked: spent when it is sent.
    "mail.remind": SPENT,
    "mail.follow_up": SPENT,
    "mail.invite": SPENT,
    "mail.sign_up": SPENT,
    "mail.email_code": SPENT,
    "mail.reset_password": SPENT,
    "mail.confirm_address": SPENT,
    "mail.wait_list": SPENT,
    "mail.request": ANSWER,
    "mail.offer": ANSWER,
    "mail.offer_withdrawn": ANSWER,
    "mail.refunded": ANSWER,
    "mail.ask_host": OWNER,
    "mail.test_reminder": OWNER,
    "mail.address_kept": OWNER,
    "mail.address_changed": OWNER,
    "mail.address_change_requested": OWNER,
    "mail.confirm_deletion": OWNER,
    "mail.password_changed": OWNER,
    "mail.notify": OWNER,
    "scim.report_held": OWNER,
    "organization.tell_deleted": OWNER,
    "assistants.tell_connected": OWNER,
    "assistants.ask_by_mail": OWNER,
    "plans.tell_second": OWNER,
    # The operator's own agents, with budgets and approvals.
    "agents.send_email": "of the operator",
}
TELLING = {
    "domains/bookings/operations.py": "spends",
    "domains/bookings/series/operations.py": "spends",
    "domains/bookings/handovers.py": "spends",
    "domains/bookings/requests/operations.py": "was spent when the time was asked for",
    "domains/bookings/pending.py": "was spent when the time was asked for",
}
"""Where a verb tells of a booking that was made, moved or given to others, which its invitee and guests are mailed."""


def test_every_kind_of_mail_is_listed() -> None:
    assert {each.name for each in WIRING.reactions if each.destination is mail_server} == set(WAYS)


def test_every_verb_that_tells_of_a_booking_asks_the_ledger() -> None:
    root = Path(openslot.__file__).parent
    sources = {each.relative_to(root).as_posix(): each.read_text() for each in root.rglob("*.py")}
    telling = {path for path, text in sources.items() if re.search(r"(?<!def )tell_with_hosts\(", text)}

    assert telling == set(TELLING)
    asking = {path for path in telling if re.search(r"await spend_mail(_of_booking)?\(", sources[path])}
    assert asking == {path for path, why in TELLING.items() if why == "spends"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, sign_up="open")


@pytest.fixture
async def newcomer(runtime: Runtime, user: User) -> Actor:
    """The host, as an account that was opened with the form to sign up."""
    await runtime.pool.execute("update users set plan = 'FREE', signed_up = true where id = $1", user.id)
    CLIENT_ADDRESS.set(FROM_AFAR)
    return Actor(kind=ActorKind.SESSION, user_id=user.id)


@pytest.fixture
async def proven(runtime: Runtime, user: User) -> EventType:
    return await offer(runtime, user, "meeting", requires_email_verification=True, recurring_weeks=4)


def ask_for(user: User, *guests: str, start: datetime = NINE) -> BookingWanted:
    invitee = Invitee(name="Jonas", email="jonas@okafor.example", zone="UTC")
    return BookingWanted(which=BySlug(user.id, "meeting"), starts_at=start, invitee=invitee, guests=guests)


async def book(work: Work, user: User, _: EventType) -> None:
    await bookings.create_booking(work, ask_for(user))


async def book_series(work: Work, user: User, _: EventType) -> None:
    await series.create_series(work, ask_for(user), Recurrence(weeks=2, on_conflict=OnConflict.REFUSE))


async def move(work: Work, user: User, _: EventType) -> None:
    made: UUID = await work.db.fetchval("select id from bookings where host_id = $1", user.id)
    await bookings.reschedule_booking(work, BookingRef(made, user.id), NINE + timedelta(hours=2))


async def invite(work: Work, user: User, _: EventType) -> None:
    organization = await organizations.add_organization(work.acting_as(OPERATOR), name="Harbor", slug="harbor")
    invited = await people.welcome_user(work, UserWanted(email="ana@silva.example", name="Ana"))
    await invitations.invite_within_limits(work, organization, invited)


async def add_guests(work: Work, user: User, event_type: EventType) -> None:
    await work.db.execute("update event_types set requires_email_verification = false where id = $1", event_type.id)
    await bookings.create_booking(work.acting_as(PUBLIC), ask_for(user, "ana@silva.example"))


async def ask_for_code(work: Work, user: User, event_type: EventType) -> None:
    await email_codes.send_code(
        work.runtime, event_type.id, "ana@silva.example", host_id=user.id, locale=None, from_address=FROM_AFAR
    )


async def sign_up(work: Work, user: User, _: EventType) -> None:
    wanted = UserWanted(email="ana@silva.example", name="Ana", zone="UTC")
    await sign_ups.request_sign_up(work.acting_as(PUBLIC), wanted, password_hash="x", browser="x")


async def forget_password(work: Work, user: User, _: EventType) -> None:
    await resets.request_reset(work.acting_as(PUBLIC), user.email)


async def change_address(work: Work, user: User, _: EventType) -> None:
    await request_change(work.runtime.work(work.actor), user, "ana@silva.example", password=PASSWORD, code="")


async def join_wait_list(work: Work, user: User, _: EventType) -> None:
    wanted = WaitListWanted(
        which=BySlug(user.id, "day"),
        day=TUESDAY,
        starts_at=None,
        name="Ana",
        email="ana@silva.example",
        zone="UTC",
        locale="en",
    )
    await wait_list.join_wait_list(work.acting_as(PUBLIC), wanted)


Way = Callable[[Work, User, EventType], Awaitable[None]]
BY_WAY: dict[Way, Cost] = {
    book: Cost.MAIL,
    book_series: Cost.MAIL,
    move: Cost.MAIL,
    invite: Cost.MAIL,
    add_guests: Cost.MAIL,
    ask_for_code: Cost.CODE,
    sign_up: Cost.CODE,
    forget_password: Cost.CODE,
    change_address: Cost.CODE,
    join_wait_list: Cost.WAIT_LIST,
}


async def use_up(runtime: Runtime, cost: Cost, user: User) -> None:
    """Spend all that the account and its network may."""
    async with runtime.transaction(SYSTEM) as work:
        network = CostCause(kind=CauseKind.NETWORK, name="93.184.216.0/24")
        account = await find_account(work, user.id)
        assert account is not None
        for cause in (network, account):
            most = allow_here(runtime.settings, cost, cause).most
            await spend(work, cost, [cause], amount=most, scope=str(user.id) if cost is Cost.WAIT_LIST else None)


@pytest.mark.parametrize("way", BY_WAY, ids=lambda way: way.__name__)
async def test_who_has_used_the_allowance_up_has_nobody_mailed(
    runtime: Runtime, user: User, newcomer: Actor, proven: EventType, way: Way
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        if way is move:
            await bookings.create_booking(work, ask_for(user))
    if way is join_wait_list:
        await book_day(runtime, await offer_day(runtime, user))
    await use_up(runtime, BY_WAY[way], user)
    before = await runtime.pool.fetchval("select count(*) from effects")

    with pytest.raises(AllowanceUsed) as refused:
        async with runtime.transaction(newcomer) as work:
            await way(work, user, proven)

    assert refused.value.cost is BY_WAY[way]
    assert await runtime.pool.fetchval("select count(*) from effects") == before
