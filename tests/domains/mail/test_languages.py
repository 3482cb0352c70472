"""Mail in every language: each letter, to each who takes part, in words of the catalogs alone."""

from datetime import timedelta

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings import handovers
from openslot.domains.bookings.models import LEFT, BookingRef
from openslot.domains.mail.letters import BY_ROLE, write_calendar_file
from openslot.domains.mail.models import RecipientRole
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import ENGLISH, LANGUAGES, Language, choose_locale
from openslot.platform.i18n.localization import get_catalog
from tests.domains.mail.conftest import ELEVEN, Book, cancel, messages, move, part, work_off
from tests.support.clocks import MovingClock

JONAS, LI, MARA = "jonas@okafor.example", "li@okafor.example", "mara@lindqvist.example"
FOREIGN = [language for language in LANGUAGES.values() if language is not ENGLISH]
# Words that stand in an English mail and would be missed by nobody's eye in another.
ENGLISH_WORDS = (
    "meeting with",
    "When",
    "Where",
    "Host:",
    "Guests",
    "You received",
    "calendar:",
    "Reschedule",
    " time,",
)


@pytest.mark.parametrize("language", FOREIGN, ids=lambda language: language.tag)
async def test_every_mail_is_written_in_its_readers_language(
    runtime: Runtime, clock: MovingClock, book: Book, user: User, language: Language
) -> None:
    await runtime.pool.execute("update users set locale = $2 where id = $1", user.id, language.tag)
    await runtime.pool.execute("update event_types set name = 'Yoga'")
    booking = await book(clock.now + timedelta(days=2, hours=3), guests=(LI,))
    await work_off(runtime, clock)
    await move(runtime, booking, booking.starts_at + timedelta(hours=1))
    await work_off(runtime, clock)
    clock.now = booking.starts_at - timedelta(hours=23)
    await work_off(runtime, clock)
    await cancel(runtime, booking, actor=OPERATOR, reason="x")
    await work_off(runtime, clock)
    catalog = get_catalog(language)
    for address, role, count in (
        (JONAS, RecipientRole.INVITEE, 4),
        (LI, RecipientRole.GUEST, 4),
        (MARA, RecipientRole.HOST, 3),
    ):
        sent = await messages(runtime, address)
        assert len(sent) == count
        for message in sent:
            text, html = part(message, "text/plain"), part(message, "text/html")
            assert message["Content-Language"] == language.tag
            assert f'lang="{language.tag}" dir="{language.direction}"' in html
            assert [word for word in ENGLISH_WORDS if word in text or word in message["Subject"]] == []
            headings = {catalog.gettext(heading.msgid) for heading in BY_ROLE[role].values()}
            assert text.splitlines()[0] in headings


async def test_the_invitee_chooses_the_language_and_the_host_has_their_own(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    booking = await book(locale="de-AT", guests=(LI,))
    await work_off(runtime, clock)
    languages = [(await messages(runtime, each))[0]["Content-Language"] for each in (JONAS, LI, MARA)]
    assert languages == ["de", "de", "en"]
    assert "Bestätigt" in (await messages(runtime, JONAS))[0]["Subject"]
    await move(runtime, booking, ELEVEN)
    await cancel(runtime, booking)
    await work_off(runtime, clock)
    assert [each["Content-Language"] for each in await messages(runtime, JONAS)] == ["de", "de", "de"]
    file = await write_calendar_file(runtime.work(OPERATOR), BookingRef(booking.id, None))
    assert "30 minute meeting mit Mara Lindqvist" in file.decode()


async def test_a_reason_that_we_give_is_in_each_readers_language(
    runtime: Runtime, clock: MovingClock, book: Book, user: User
) -> None:
    await book(locale="de")
    async with runtime.transaction(OPERATOR) as work:
        await handovers.cancel_upcoming(work, user, reason=LEFT.fill(host=user.name, organization="Harbor"))
    await work_off(runtime, clock)
    told = {each: (await messages(runtime, each))[-1] for each in (JONAS, MARA)}

    for kind in ("text/plain", "text/html"):
        assert "Mara Lindqvist ist nicht mehr bei Harbor" in part(told[JONAS], kind)
        assert "Mara Lindqvist is no longer with Harbor" in part(told[MARA], kind)


async def test_what_an_invitee_typed_is_never_taken_for_our_words(
    runtime: Runtime, clock: MovingClock, book: Book, user: User
) -> None:
    await runtime.pool.execute("update users set locale = 'de' where id = $1", user.id)
    await book(notes="Changed in the host's calendar")
    await work_off(runtime, clock)

    assert "Changed in the host's calendar" in part((await messages(runtime, MARA))[-1], "text/plain")


@pytest.mark.parametrize(
    ("tags", "formats"),
    [
        (("de", "fr"), "de"),
        (("sv", "fr"), "fr"),
        ((None, "pt-PT"), "pt_PT"),
        (("sv", None), "en_GB"),
        (("en-US",), "en_US"),
    ],
)
def test_the_first_language_that_there_is(tags: tuple[str | None, ...], formats: str) -> None:
    assert choose_locale(*tags).formats == formats
