"""Names that look like links: no mail makes a link of them, and what is meant as a link stays one."""

from datetime import timedelta
from html import unescape

import pytest

from openslot.domains.accounts.invitations import operations as invitations
from openslot.domains.accounts.members import operations as members
from openslot.domains.accounts.models import Brand, Role, User
from openslot.domains.accounts.operations import get_user
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.bookings.models import BookingRef
from openslot.domains.mail.letters import write_calendar_file
from openslot.domains.mail.models import Fact, Letter, Link
from openslot.domains.mail.rendering import render
from openslot.domains.people import operations as people
from openslot.domains.people import organization_deletions
from openslot.domains.people.departures import on_behalf
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.text import WORD_JOINER
from openslot.platform.core.work import Runtime
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.languages import DEFAULT
from tests.domains.mail.conftest import Book, cancel, messages, move, work_off
from tests.domains.mail.support import EVIL, RAW, check_message
from tests.support.clocks import MovingClock

JONAS, LI, MARA = "jonas@okafor.example", "li@okafor.example", "mara@lindqvist.example"


@pytest.fixture
async def hostile(runtime: Runtime, user: User) -> User:
    """A host whose own name, event types and brand look like links."""
    pool = runtime.pool
    await pool.execute("update users set name = $1", EVIL)
    await pool.execute("update event_types set name = $1", EVIL)
    await pool.execute(
        "insert into brands (id, user_id, name, updated_at) values (gen_random_uuid(), $1, $2, now())", user.id, EVIL
    )
    return await get_user(runtime.work(OPERATOR), user.id)


async def test_every_mail_about_a_meeting_shows_names_without_links(
    runtime: Runtime, clock: MovingClock, book: Book, hostile: User
) -> None:
    await runtime.pool.execute(
        "insert into notification_choices (user_id, topic, is_on, updated_at) select $1, 'reminder', true, now()",
        hostile.id,
    )
    booking = await book(clock.now + timedelta(days=2, hours=3), guests=(LI,), name=EVIL)
    await work_off(runtime, clock)
    await move(runtime, booking, booking.starts_at + timedelta(hours=1))
    await work_off(runtime, clock)
    clock.now = booking.starts_at - timedelta(hours=23)
    await work_off(runtime, clock)
    await cancel(runtime, booking, actor=OPERATOR)
    await work_off(runtime, clock)
    sent = [each for address in (JONAS, LI, MARA) for each in await messages(runtime, address)]

    assert len(sent) >= 11
    for message in sent:
        check_message(message)
    file = await write_calendar_file(runtime.work(PUBLIC), BookingRef(booking.id, None))
    assert not RAW.search(file.decode().replace("\r\n ", ""))


async def test_mails_about_an_organization_show_its_name_without_links(
    runtime: Runtime, clock: MovingClock, book: Book, hostile: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name=EVIL, slug="evil")
        await members.add_organization_member(work, organization, hostile, role=Role.OWNER)
        await invitations.make_invitation(work, organization, hostile)
    await work_off(runtime, clock)
    await book()
    async with runtime.transaction(OPERATOR) as work:
        # The reason for the cancellation names the host and the organization.
        await people.suspend_member(on_behalf(work, organization), organization, hostile, keeps_bookings=False)
    await runtime.pool.execute("update users set disabled_at = null, suspended_by = null")
    await work_off(runtime, clock)
    async with runtime.transaction(OPERATOR) as work:
        await organization_deletions.delete_as_operator(work, organization)
    await work_off(runtime, clock)
    sent = [each for address in (JONAS, MARA) for each in await messages(runtime, address)]

    assert [each for each in sent if "invited to join" in str(each["Subject"])]
    assert [each for each in sent if "was deleted" in str(each["Subject"])]
    for message in sent:
        check_message(message)


def test_every_part_of_a_letter_is_shown_without_links_except_what_is_meant() -> None:
    name = Text("Join %(name)s", name=EVIL)
    letter = Letter(
        subject=name,
        heading=PluralText("%(count)s of %(name)s", "%(count)s of %(name)s", count=2, name=EVIL),
        paragraphs=(name, EVIL),
        facts=(
            Fact(label=EVIL, lines=(EVIL, JONAS)),
            Fact(label="Where", lines=("https://meet.example/room",), is_verbatim=True),
        ),
        quote="See https://own.example",
        button=Link(label=EVIL, url="https://button.example"),
        links_label=name,
        links=(Link(label=EVIL, url="https://link.example"),),
        footer=(Text("%(inner)s", inner=Text("by %(name)s", name=EVIL)),),
    )
    rendered = render(letter, Brand(name=EVIL, color="#000000"), DEFAULT, postal_address="1 Street, own.example")

    for text in (rendered.subject, rendered.text, unescape(rendered.html)):
        assert not RAW.search(text), ascii(text)
        assert f"evil.{WORD_JOINER}io" in text
    for meant in (
        "https://meet.example/room",
        JONAS,
        "https://own.example",
        "https://button.example",
        "1 Street, own.ex",
    ):
        assert meant in rendered.text
        assert meant in rendered.html


async def test_stored_names_and_json_stay_as_they_were_entered(
    runtime: Runtime, clock: MovingClock, book: Book, hostile: User
) -> None:
    booking = await book(name=EVIL)
    await work_off(runtime, clock)

    assert booking.invitee_name == EVIL
    assert hostile.name == EVIL
    fact = await runtime.pool.fetchval("select fact::text from events where type = 'booking.created'")
    assert WORD_JOINER not in fact
