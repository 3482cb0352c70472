"""Mails about money: in the reader's language, with no name that becomes a link, a header or markup."""

from email.message import EmailMessage

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.domains.payments import operations
from openslot.domains.payments.connections.events import PaymentsUnreadable
from openslot.domains.payments.models import PaymentConnection
from openslot.domains.plans.operations import TELL_SECOND, SecondSubscription
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import ENGLISH, LANGUAGES, Language
from openslot.platform.i18n.localization import get_catalog
from tests.domains.mail.conftest import messages, part
from tests.domains.mail.support import EVIL, check_message
from tests.domains.payments.support import book, find, intent_of, session_of, tick
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books
from tests.support.hostile_text import CORPUS

JONAS, MARA = "jonas@okafor.example", "mara@lindqvist.example"
FOREIGN = [language for language in LANGUAGES.values() if language is not ENGLISH]
ENGLISH_WORDS = ("refund", "Refund", "payment", " paid", "subscription", "You received", "Reason:", "Invitee", "When")


async def cause_all(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    connection: PaymentConnection,
    paid: EventType,
    books: Books,
    clock: MovingClock,
    **changes: str,
) -> list[EmailMessage]:
    """Let a payment be received, refunded and disputed, its account become unreadable, and a plan be bought twice."""
    payment = await find(runtime, await book(client, paid, **changes))
    books.pay(session_of(payment))
    payment = await operations.read_anew(runtime, payment.id)
    books.refund(intent_of(payment), 900)
    books.dispute(intent_of(payment))
    await operations.read_anew(runtime, payment.id)
    async with runtime.transaction(SYSTEM) as work:
        second = SecondSubscription(subscription_id="sub_2", told_id=user.id)
        await work.plan(TELL_SECOND, "sub_2", due_at=work.now, payload=second, tenant_id=user.id)
        await work.record(
            PaymentsUnreadable(
                connection_id=connection.id,
                user_id=user.id,
                organization_id=None,
                mode=connection.mode,
                account_name=None,
                since=work.now,
                reason="<xss-probe onload=x()>",
                base_url=work.runtime.settings.public_url,
            )
        )
    await tick(runtime, clock)
    sent = [*await messages(runtime, JONAS), *await messages(runtime, MARA)]
    assert len(sent) == 6
    return sent


@pytest.mark.parametrize("language", FOREIGN, ids=lambda language: language.tag)
async def test_every_mail_about_money_is_written_in_its_readers_language(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    connection: PaymentConnection,
    paid: EventType,
    books: Books,
    clock: MovingClock,
    language: Language,
) -> None:
    await runtime.pool.execute("update users set locale = $1", language.tag)
    await runtime.pool.execute("update event_types set name = 'Yoga'")
    sent = await cause_all(client, runtime, user, connection, paid, books, clock, inviteeLocale=language.tag)
    for message in sent:
        text, html = part(message, "text/plain"), part(message, "text/html")
        assert message["Content-Language"] == language.tag
        assert f'lang="{language.tag}" dir="{language.direction}"' in html
        said = f"{message['Subject']}\n{text.partition('http')[0]}"
        assert [word for word in ENGLISH_WORDS if word in said] == [], said
    subjects = {str(message["Subject"]) for message in sent}
    catalog = get_catalog(language)
    for subject in (
        "A payment is disputed",
        "Openslot can't read your payments",
        "Your second subscription was cancelled",
    ):
        assert catalog.gettext(subject) in subjects


@pytest.mark.parametrize("text", [*CORPUS, EVIL])
async def test_no_name_becomes_markup_or_a_link(
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    connection: PaymentConnection,
    paid: EventType,
    books: Books,
    clock: MovingClock,
    text: str,
) -> None:
    await runtime.pool.execute("update users set name = $1", text)
    await runtime.pool.execute("update event_types set name = $1", text)
    name = "Eve" if "\u202e" in text else text[:100]
    sent = await cause_all(client, runtime, user, connection, paid, books, clock, inviteeName=name)
    for message in sent:
        assert "<xss-probe" not in part(message, "text/html")
        assert "133700021" not in message.as_string()
        if "evil" in message.as_string():
            check_message(message)
