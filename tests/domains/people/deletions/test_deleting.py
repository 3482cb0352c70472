"""An account that is deleted is closed at once, cancels with notice, and is erased only when that has arrived."""

import asyncio
from datetime import timedelta

import httpx2
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.errors import (
    AccountDeletionPending,
    AccountManagedByOrganization,
    AccountOwnsOrganization,
    LastAdministratorRequired,
    UsernameAlreadyExists,
)
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Role, User, UserSettings, UserWanted
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingRef
from openslot.domains.mail import operations as mail
from openslot.domains.people import deletions
from openslot.domains.people import operations as people
from openslot.domains.people.deletions import EFFECTS_FINISH_WITHIN
from openslot.domains.people.models import DeletionState
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Runtime
from tests.domains.people.deletions.conftest import Delete, advance, find_state, is_there, settle
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import ELEVEN, TEN, Book, listen
from tests.support.receiver import Receiver


async def subjects(runtime: Runtime, recipient: str) -> list[str]:
    found = await mail.list_kept_mails(runtime.work(OPERATOR), recipient=recipient, booking_id=None, limit=20)
    return [each.subject for each in reversed(found)]


async def test_everyone_is_told_before_anything_is_erased(
    runtime: Runtime, user: User, clock: MovingClock, book: Book, receiver: Receiver, delete: Delete
) -> None:
    await listen(runtime, user, receiver.url)
    await book()
    await book(ELEVEN, name="Priya", email="priya@raman.example")
    await work_off(runtime, clock)
    # Mail is deleted with the account, so it is looked at just before.
    await delete(message="I am closing my practice.")
    await advance(runtime)
    assert await find_state(runtime, user) == "waiting"
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CONFIRMED'") == 0
    assert await is_there(runtime, user)
    await work_off(runtime, clock)

    for invitee in ("jonas@okafor.example", "priya@raman.example"):
        assert (await subjects(runtime, invitee))[-1].startswith("Cancelled: 30 minute meeting")
    reasons = await runtime.pool.fetch("select cancel_reason, cancelled_by from bookings")
    assert [tuple(row.values()) for row in reasons] == [("I am closing my practice.", "host")] * 2
    assert [each.json["type"] for each in receiver.got][-2:] == ["booking.cancelled"] * 2
    assert "Your account is being deleted" in await subjects(runtime, user.email)
    await advance(runtime)
    assert await find_state(runtime, user) == "telling"
    assert await is_there(runtime, user)
    await work_off(runtime, clock)
    assert (await subjects(runtime, user.email))[-1] == "Your account is deleted"
    await advance(runtime)
    assert await find_state(runtime, user) == "done"
    assert not await is_there(runtime, user)


async def test_an_effect_that_is_tried_again_is_waited_for_but_not_for_ever(
    runtime: Runtime, user: User, clock: MovingClock, book: Book, receiver: Receiver, delete: Delete
) -> None:
    receiver.answer(503)
    await listen(runtime, user, receiver.url)
    await book()
    await delete()
    await settle(runtime, clock)
    assert await find_state(runtime, user) == "waiting"
    clock.now += EFFECTS_FINISH_WITHIN - timedelta(seconds=1)
    await advance(runtime)
    assert await find_state(runtime, user) == "waiting"
    assert await is_there(runtime, user)

    clock.now += timedelta(seconds=1)
    await advance(runtime)
    assert await find_state(runtime, user) == "telling"
    clock.now += timedelta(days=1)
    await advance(runtime)

    assert await find_state(runtime, user) == "done"
    assert not await is_there(runtime, user)


async def test_the_last_mail_is_waited_for(runtime: Runtime, user: User, clock: MovingClock, delete: Delete) -> None:
    await delete()
    await advance(runtime)
    await work_off(runtime, clock)
    await advance(runtime)
    assert await find_state(runtime, user) == "telling"

    await advance(runtime)

    assert await is_there(runtime, user)
    assert await subjects(runtime, user.email) == ["Your account is being deleted"]


async def test_a_dead_effect_is_not_waited_for(
    runtime: Runtime, user: User, clock: MovingClock, book: Book, delete: Delete
) -> None:
    await listen(runtime, user)
    await book()
    await delete()
    await advance(runtime)
    await work_off(runtime, clock)
    await runtime.pool.execute(
        "update effects set state = 'dead', finished_at = now() where state in ('queued', 'waiting')"
    )

    await settle(runtime, clock)

    assert await find_state(runtime, user) == "done"


async def test_the_page_keys_and_sessions_are_closed_at_once(
    runtime: Runtime, user: User, member: httpx2.AsyncClient, delete: Delete
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, user, name="test")
    bearer = {"authorization": f"Bearer {key}"}
    assert (await member.get("/api/v1/me", headers=bearer)).status_code == 200
    assert (await member.get("/mara")).status_code == 200

    await delete()

    assert (await member.get("/mara")).status_code == 404
    assert (await member.get("/api/v1/me", headers=bearer)).status_code == 401
    assert (await member.get("/bookings")).headers["location"].startswith("/login")


async def test_the_address_is_free_afterwards_and_the_usernames_180_days_later(
    runtime: Runtime, user: User, clock: MovingClock, delete: Delete
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.change_user_settings(work, user, UserSettings(username="mara-l"))
    clock.pass_time(days=1)
    await delete()
    await settle(runtime, clock)

    async def welcome(email: str, username: str | None) -> User:
        async with runtime.transaction(OPERATOR) as work:
            return await people.welcome_user(work, UserWanted(email=email, name="Mara", username=username))

    for username in ("mara", "mara-l", "MARA-L"):
        with pytest.raises(UsernameAlreadyExists):
            await welcome("stranger@x.example", username)
    # Neither is given to somebody who has chosen none.
    assert (await welcome(user.email, None)).username == "mara-2"
    clock.pass_time(days=179)
    assert (await welcome("first@x.example", "mara")).username == "mara"
    clock.pass_time(days=1)
    assert (await welcome("second@x.example", "mara-l")).username == "mara-l"


async def test_a_second_deletion_is_refused(runtime: Runtime, user: User, delete: Delete) -> None:
    await delete()
    with pytest.raises(AccountDeletionPending):
        await delete()


async def test_an_account_that_is_being_deleted_is_never_opened_again(
    runtime: Runtime, user: User, delete: Delete
) -> None:
    await delete()
    async with runtime.transaction(OPERATOR) as work:
        with pytest.raises(AccountDeletionPending):
            await accounts.set_user_enabled(work, user)
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        with pytest.raises(AccountDeletionPending):
            await add_organization_member(work, organization, user)
    assert await runtime.pool.fetchval("select disabled_at is not null from users where id = $1", user.id)


@pytest.mark.parametrize(
    ("role", "refusal"), [(Role.OWNER, AccountOwnsOrganization), (Role.MEMBER, AccountManagedByOrganization)]
)
async def test_a_member_whom_an_organization_manages_is_refused(
    runtime: Runtime, user: User, delete: Delete, book: Book, role: Role, refusal: type[Exception]
) -> None:
    booking = await book()
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, organization, user, role=role)

    with pytest.raises(refusal, match="Harbor"):
        await delete()

    details = await bookings.get_booking(runtime.work(OPERATOR), BookingRef(booking.id, user.id))
    assert details.booking.status == "CONFIRMED"
    assert await find_state(runtime, user) is None


async def test_a_membership_that_was_not_accepted_ends(
    runtime: Runtime, user: User, clock: MovingClock, delete: Delete
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await members.add_described_member(work, organization, user, profile=None, said_active=True, pending=True)
    await delete()

    assert await runtime.pool.fetchval("select count(*) from memberships") == 0


async def test_the_only_administrator_can_not_leave(runtime: Runtime, user: User, delete: Delete) -> None:
    async with runtime.transaction(OPERATOR) as work:
        admin = await accounts.set_admin(work, user, is_admin=True)
    with pytest.raises(LastAdministratorRequired):
        await delete(admin)

    assert await find_state(runtime, user) is None


@pytest.mark.parametrize("state", ["cancelling", "waiting", "telling", "erasing"])
async def test_a_job_that_dies_in_any_step_is_continued(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    book: Book,
    delete: Delete,
    monkeypatch: pytest.MonkeyPatch,
    state: str,
) -> None:
    for place in range(3):
        await book(TEN + timedelta(hours=place), email=f"li{place}@x.example")
    monkeypatch.setattr(deletions, "CANCELLED_AT_ONCE", 1)
    monkeypatch.setattr(deletions, "ERASED_AT_ONCE", 1)
    await delete()
    step = deletions.STEPS[DeletionState(state)]
    calls = 0

    async def dying(*arguments: object) -> bool:
        nonlocal calls
        done = await step(*arguments)  # type: ignore[arg-type]
        calls += 1
        # Every second attempt dies after its work and before its commit.
        if calls % 2:
            raise KeyboardInterrupt
        return done

    monkeypatch.setitem(deletions.STEPS, DeletionState(state), dying)
    for _ in range(200):
        await work_off(runtime, clock)
        try:
            await advance(runtime)
        except KeyboardInterrupt:
            continue
        if await find_state(runtime, user) == "done":
            break

    assert calls > 1
    assert await find_state(runtime, user) == "done"
    assert not await is_there(runtime, user)
    cancelled = await runtime.pool.fetchval("select cancelled_bookings from account_deletions")
    assert cancelled == 3


async def test_two_workers_at_once_do_each_step_once(
    runtime: Runtime, user: User, clock: MovingClock, book: Book, delete: Delete
) -> None:
    for place in range(3):
        await book(TEN + timedelta(hours=place), email=f"li{place}@x.example")
    await delete()
    await asyncio.gather(*(advance(runtime) for _ in range(4)))

    assert await runtime.pool.fetchval("select count(*) from events where type = 'booking.cancelled'") == 3
    assert await runtime.pool.fetchval("select cancelled_bookings from account_deletions") == 3


async def test_an_account_that_can_not_be_deleted_now_does_not_hold_up_others(
    runtime: Runtime, user: User, stranger: User, clock: MovingClock, delete: Delete, monkeypatch: pytest.MonkeyPatch
) -> None:
    await delete()
    clock.now += timedelta(minutes=1)
    await delete(stranger)
    step = deletions.STEPS[DeletionState.CANCELLING]

    async def refusing(work: object, deletion: object, whom: User) -> bool:
        if whom.id == user.id:
            raise NotFound
        return await step(work, deletion, whom)  # type: ignore[arg-type]

    monkeypatch.setitem(deletions.STEPS, DeletionState.CANCELLING, refusing)
    await settle(runtime, clock)

    assert await is_there(runtime, user)
    assert not await is_there(runtime, stranger)


async def test_the_operator_sees_what_is_waited_for(
    runtime: Runtime, user: User, clock: MovingClock, book: Book, delete: Delete
) -> None:
    await book()
    await delete()
    await advance(runtime)

    (shown,) = await deletions.list_deletions(runtime.work(SYSTEM))
    assert (shown.deletion.user_id, shown.deletion.state) == (user.id, "waiting")
    assert shown.unfinished > 0
    await settle(runtime, clock)
    assert await deletions.list_deletions(runtime.work(SYSTEM)) == []


async def test_a_preview_names_what_would_be_cancelled_and_counts_the_rest(
    runtime: Runtime, user: User, book: Book
) -> None:
    await book()
    await listen(runtime, user)

    preview = await deletions.preview_deletion(runtime.work(OPERATOR), user)

    assert [(each.invitee_name, each.starts_at) for each in preview.upcoming] == [("Jonas Okafor", TEN)]
    assert preview.counts == {
        "upcoming": 1,
        "handed_over": 0,
        "declined": 0,
        "requests_handed_over": 0,
        "team_event_types": 0,
        "bookings": 1,
        "event_types": 1,
        "contacts": 1,
        "conversations": 0,
        "keys": 0,
        "webhooks": 1,
        "calendars": 0,
    }
