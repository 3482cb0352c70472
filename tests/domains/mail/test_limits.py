"""How much mail strangers can set off for a host: each kind has a part of its own, and the host is told."""

import asyncio
from collections import Counter

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.mail import rules
from openslot.domains.mail.models import KeptMail, MailKind, MailPot, MailStatus, RecipientRole
from openslot.domains.reminders import operations as reminders
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import Book, cancel, mails, messages, move, part, work_off
from tests.domains.mail.support import begin, draft_of, start
from tests.support.clocks import MovingClock

MARA = "mara@lindqvist.example"
# The parts of 20 mails.
SIZES = {
    MailPot.CONFIRMATIONS: 8,
    MailPot.REMINDERS: 5,
    MailPot.GUESTS: 4,
    MailPot.RESCHEDULES: 1,
    MailPot.CANCELLATIONS: 1,
    MailPot.WAIT_LIST: 1,
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Few mails for a host, and many for an address."""
    return replace(settings, limit_mail_host=20, limit_mail_recipient=1000)


@pytest.fixture(autouse=True)
async def no_reminders(runtime: Runtime, user: User) -> None:
    """Remind nobody, unless a test wishes it."""
    async with runtime.transaction(OPERATOR) as work:
        await reminders.set_reminders(work, user, None, ())


def count(kept: list[KeptMail]) -> dict[tuple[MailKind, RecipientRole | None, MailStatus], int]:
    return Counter((each.kind, each.role, each.status) for each in kept if each.role is not RecipientRole.HOST)


async def notices(runtime: Runtime) -> list[str]:
    """Read what the host was told of limits."""
    told = [part(each, "text/plain") for each in await messages(runtime, MARA)]
    return [text for text in told if "Some emails about your bookings were not sent" in text]


@pytest.mark.parametrize("limit", [1, 2, 7, 20, 99, 1000, 1_000_000])
def test_the_parts_add_up_to_the_limit(limit: int) -> None:
    sizes = {pot: rules.size_of(pot, limit) for pot in MailPot}

    assert sum(sizes.values()) == limit
    assert sizes[MailPot.CONFIRMATIONS] >= max(1, limit * 2 // 5)
    assert min(sizes.values()) >= 0
    assert {pot: rules.size_of(pot, 20) for pot in MailPot} == SIZES


@pytest.mark.parametrize("pot", MailPot)
async def test_no_kind_of_mail_uses_the_part_of_another(runtime: Runtime, user: User, pot: MailPot) -> None:
    kinds = {part_of: (kind, RecipientRole.INVITEE) for kind, part_of in rules.POTS.items()}
    kinds[MailPot.GUESTS] = (MailKind.RESCHEDULE, RecipientRole.GUEST)
    others = [each for each in MailPot if each is not pot]
    for other in others:
        for _ in range(25):
            await begin(runtime, draft_of(user, *kinds[other]))

    sent = [await begin(runtime, draft_of(user, *kinds[pot])) for _ in range(25)]

    assert sent == [True] * SIZES[pot] + [False] * (25 - SIZES[pot])
    assert sum(each.status is MailStatus.SENDING for each in await mails(runtime)) == 20


@pytest.mark.rest("fills the database with much")
async def test_guests_and_reschedules_of_a_stranger_leave_invitees_their_confirmation(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    guests = tuple(f"g{number}@victim.example" for number in range(10))
    bookings = [await book(start(number), email=f"s{number}@x.example", guests=guests) for number in range(3)]
    await work_off(runtime, clock)
    for number in range(4):
        await move(runtime, bookings[0], start(16 + number))
    await cancel(runtime, bookings[1])
    await cancel(runtime, bookings[2])
    await work_off(runtime, clock)
    await book(start(40), email="jonas@okafor.example")
    await work_off(runtime, clock)

    sent = {key[:2]: number for key, number in count(await mails(runtime)).items() if key[2] is MailStatus.SENT}
    assert sum(number for (_, role), number in sent.items() if role is RecipientRole.GUEST) == 4
    assert sent[MailKind.RESCHEDULE, RecipientRole.INVITEE] == 1
    assert sent[MailKind.CANCELLATION, RecipientRole.INVITEE] == 1
    assert sent[MailKind.CONFIRMATION, RecipientRole.INVITEE] == 4
    assert "/manage/" in part((await messages(runtime, "jonas@okafor.example"))[0], "text/plain")


@pytest.mark.rest("fills the database with much")
async def test_a_host_learns_of_every_booking_and_once_a_day_of_each_part_that_is_used_up(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    for number in range(12):
        await book(start(number), email=f"s{number}@x.example", guests=(f"g{number}@x.example",))
    await work_off(runtime, clock)

    to_host = [each for each in await mails(runtime, MARA) if each.kind is MailKind.CONFIRMATION]
    assert [each.status for each in to_host] == [MailStatus.SENT] * 12
    told = sorted(await notices(runtime))
    assert ["Confirmations to invitees" in text for text in told].count(True) == 1
    assert ["Emails to guests" in text for text in told].count(True) == 1
    assert len(told) == 2
    assert any("8 in 24 hours" in text for text in told)
    refused = [each for each in await mails(runtime, "s11@x.example") if each.status is MailStatus.FAILED]
    assert [each.error for each in refused] == [
        "not sent: the public has set off 8 mails of this kind (confirmations) for this host within 24 hours"
    ]

    clock.pass_time(hours=23)
    await book(start(40), email="late@x.example", actor=PUBLIC)
    await work_off(runtime, clock)
    assert len(await notices(runtime)) == 2
    clock.pass_time(hours=2)
    for number in range(12):
        await book(start(48 + number), email=f"t{number}@x.example")
    await work_off(runtime, clock)
    assert len(await notices(runtime)) == 3


async def test_a_host_is_told_although_they_want_no_mail(
    runtime: Runtime, clock: MovingClock, user: User, book: Book
) -> None:
    await runtime.pool.execute(
        """insert into notification_choices (user_id, topic, is_on, updated_at)
        select $1, unnest(array['booked', 'rescheduled', 'cancelled', 'calendar', 'webhook']), false, now()""",
        user.id,
    )
    for _ in range(9):
        await begin(runtime, draft_of(user, MailKind.CONFIRMATION, RecipientRole.INVITEE))
    # The host's own address has got as much as the public may set off.
    for _ in range(4):
        await begin(runtime, draft_of(user, MailKind.CONFIRMATION, RecipientRole.GUEST, MARA))
    runtime.settings = replace(runtime.settings, limit_mail_recipient=1)
    await work_off(runtime, clock)

    assert len(await notices(runtime)) == 1


async def test_mail_about_an_account_and_mail_of_the_host_need_no_room(
    runtime: Runtime, clock: MovingClock, user: User, book: Book
) -> None:
    for _ in range(25):
        await begin(runtime, draft_of(user, MailKind.CONFIRMATION, RecipientRole.INVITEE))

    assert not await begin(runtime, draft_of(user, MailKind.CONFIRMATION, RecipientRole.INVITEE))
    for _ in range(25):
        assert await begin(runtime, draft_of(user, MailKind.NOTICE, RecipientRole.NONE))
    await book(start(3), email="own@okafor.example", actor=OPERATOR)
    await work_off(runtime, clock)
    assert len(await messages(runtime, "own@okafor.example")) == 1


@pytest.mark.parametrize("role", [RecipientRole.INVITEE, RecipientRole.GUEST])
async def test_the_parts_are_exact_for_workers_at_the_same_moment(
    runtime: Runtime, user: User, role: RecipientRole
) -> None:
    drafts = [draft_of(user, MailKind.CONFIRMATION, role) for _ in range(30)]
    sent = await asyncio.gather(*(begin(runtime, draft) for draft in drafts))

    assert sum(sent) == SIZES[MailPot.CONFIRMATIONS if role is RecipientRole.INVITEE else MailPot.GUESTS]
    assert await runtime.pool.fetchval("select count(*) from events where type = 'mail.limit_reached'") == 1


async def test_a_mail_that_is_tried_again_keeps_its_place(runtime: Runtime, user: User) -> None:
    first = draft_of(user, MailKind.CONFIRMATION, RecipientRole.INVITEE)
    for draft in [first, *(draft_of(user, MailKind.CONFIRMATION, RecipientRole.INVITEE) for _ in range(9))]:
        await begin(runtime, draft)

    assert await begin(runtime, first)
