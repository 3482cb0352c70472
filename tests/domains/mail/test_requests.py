"""Mails about requests: what each says, to whom, in every language, and what strangers can't put into them."""

import re
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.bookings.requests import operations as requests
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import Location, LocationKind
from openslot.domains.mail import operations as mail
from openslot.platform.core.actor import OPERATOR, Actor, ActorKind
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from tests.domains.mail.conftest import TEN, Book, mails, messages, part
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.hostile_text import CORPUS, Markup

INVITEE, GUEST, HOST = "jonas@okafor.example", "li@okafor.example", "mara@lindqvist.example"
SECRET = "https://meet.example/secret-room"
LANGUAGES = {
    "en": ("Request sent: ", "Declined: ", "Not answered: ", "Your request was sent"),
    "de": ("Anfrage gesendet: ", "Abgelehnt: ", "Nicht beantwortet: ", "Ihre Anfrage wurde gesendet"),
    "fr": ("Demande envoyée : ", "Refusé : ", "Sans réponse : ", "Votre demande a été envoyée"),
    "es": ("Solicitud enviada: ", "Rechazado: ", "Sin respuesta: ", "La solicitud se ha enviado"),
    "pt": ("Solicitação enviada: ", "Recusado: ", "Sem resposta: ", "Sua solicitação foi enviada"),
    "ja": ("リクエスト送信済み: ", "辞退: ", "返答なし: ", "リクエストを送信しました"),
    "ar": ("أُرسل الطلب: ", "مرفوض: ", "بلا رد: ", "أُرسل طلبك"),
}
REQUESTS = {
    "en": "Request: ",
    "de": "Anfrage: ",
    "fr": "Demande : ",
    "es": "Solicitud: ",
    "pt": "Solicitação: ",
    "ja": "リクエスト: ",
    "ar": "طلب: ",
}


@pytest.fixture(autouse=True)
async def asked(runtime: Runtime, user: User) -> None:
    """Let the host confirm each meeting, in a room that only those who take part know."""
    async with runtime.transaction(OPERATOR) as work:
        found = await event_types.get_event_type_by_slug(work, user, "30min")
        place = Location(LocationKind.VIDEO_LINK, SECRET)
        await event_types.change_event_type(work, replace(found, requires_confirmation=True, location=place))


async def answer(runtime: Runtime, booking: Booking, *, reason: str | None = None, confirms: bool = False) -> None:
    async with runtime.transaction(Actor(kind=ActorKind.SESSION, user_id=booking.host_id)) as work:
        ref = BookingRef(booking.id, booking.host_id)
        await (
            requests.confirm_booking_request(work, ref)
            if confirms
            else requests.decline_booking_request(work, ref, reason=reason)
        )


async def lapse(runtime: Runtime, clock: MovingClock) -> None:
    await run_job(runtime, requests.REQUEST_JOBS[0])
    await work_off(runtime, clock)


def both(message: Any) -> str:
    return part(message, "text/plain") + part(message, "text/html")


async def test_the_host_is_asked_and_the_invitee_is_told(
    runtime: Runtime, user: User, clock: MovingClock, book: Book
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await mail.set_mail_topics(work, user, frozenset())
    booking = await book(notes="Pricing for 12", guests=(GUEST,))
    await work_off(runtime, clock)
    (to_host,), (to_invitee,) = await messages(runtime, HOST), await messages(runtime, INVITEE)
    assert await messages(runtime, GUEST) == []
    assert to_host["subject"].startswith("Request: 30")
    assert f"/bookings/requests/{booking.id}" in part(to_host, "text/plain")
    assert "Pricing for 12" in part(to_host, "text/plain")
    assert "/manage/" not in both(to_host)
    assert "/manage/" in part(to_invitee, "text/plain")
    assert "Pricing for 12" not in both(to_invitee)
    for message in (to_host, to_invitee):
        assert SECRET not in both(message)
        assert "calendar" not in {each.get_content_subtype() for each in message.walk()}
    assert [each.kind for each in await mails(runtime)] == ["request", "request"]


async def test_confirmed_everyone_gets_what_follows_a_booking(runtime: Runtime, clock: MovingClock, book: Book) -> None:
    booking = await book(guests=(GUEST,))
    await work_off(runtime, clock)
    await answer(runtime, booking, confirms=True)
    await work_off(runtime, clock)
    message = (await messages(runtime, INVITEE))[-1]
    assert message["subject"].startswith("Confirmed: ")
    assert SECRET in both(message)
    assert "/reschedule" not in both(message)
    assert "/cancel" in both(message)
    assert [each["subject"].split(":")[0] for each in await messages(runtime, GUEST)] == ["Confirmed"]
    assert (await messages(runtime, HOST))[-1]["subject"].startswith("Confirmed: ")


@pytest.mark.parametrize("language", LANGUAGES)
async def test_each_mail_is_written_in_the_language_of_its_reader(
    runtime: Runtime, user: User, clock: MovingClock, book: Book, language: str
) -> None:
    await runtime.pool.execute("update users set locale = $2 where id = $1", user.id, language)
    declined, lapsed = await book(locale=language), await book(TEN + timedelta(hours=1), locale=language)
    await work_off(runtime, clock)
    await answer(runtime, declined, reason="Travelling")
    await work_off(runtime, clock)
    clock.now = lapsed.starts_at
    await lapse(runtime, clock)
    sent, refused, unanswered, heading = LANGUAGES[language]
    found = await messages(runtime, INVITEE)
    assert sorted(each["subject"].strip().split("30")[0] for each in found) == sorted((sent, sent, refused, unanswered))
    assert any(heading in both(each) for each in found)
    assert all(f'lang="{language}' in part(each, "text/html") for each in found)
    told = next(each for each in found if each["subject"].strip().startswith(refused))
    assert "Travelling" in part(told, "text/plain")
    assert "Travelling" in part(told, "text/html")
    to_host = await messages(runtime, HOST)
    assert [each["subject"].strip().startswith(REQUESTS[language]) for each in to_host] == [True, True]
    for message in (*found, *to_host):
        assert "%(" not in both(message)


@pytest.mark.parametrize("text", CORPUS)
async def test_what_people_write_becomes_no_markup_and_goes_to_the_host_alone(
    runtime: Runtime, user: User, clock: MovingClock, book: Book, text: str
) -> None:
    await runtime.pool.execute("update users set name = $2 where id = $1", user.id, text)
    await runtime.pool.execute("update event_types set name = $2 where owner_id = $1", user.id, text)
    first = await book(name=re.sub(r"[\u202e\u2066]", "", text), notes=text)
    await book(TEN + timedelta(hours=1), name="Jonas", notes=text)
    await work_off(runtime, clock)
    await answer(runtime, first, reason=text)
    clock.now = TEN + timedelta(hours=1)
    await lapse(runtime, clock)
    found = [*await messages(runtime, INVITEE), *await messages(runtime, HOST)]
    assert len(found) == 6
    for message in found:
        markup = Markup()
        markup.feed(part(message, "text/html"))
        assert not {"script", "xss-probe", "textarea"} & markup.tags
        assert not {each for each in markup.attributes if each.startswith("on")}
        assert not [each for each in markup.addresses if each.startswith("javascript")]
        assert "\n" not in message["subject"]


async def test_strangers_can_not_set_off_more_mail_than_the_limits_allow(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    runtime.settings = replace(runtime.settings, hold_share=100)
    limit = runtime.settings.limit_mail_recipient
    for place in range(limit + 1):
        await book(TEN + timedelta(days=place // 8, minutes=30 * (place % 8)))
    await work_off(runtime, clock)
    states = [each.status for each in await mails(runtime, INVITEE)]
    assert states == ["sent"] * limit + ["failed"]


async def test_the_answer_that_was_promised_is_sent_although_others_have_used_up_the_hosts_part(
    runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    """A request that nobody has answered follows from what anyone may have asked."""
    runtime.settings = replace(runtime.settings, hold_share=100, limit_mail_host=5)
    for place in range(6):
        await book(TEN + timedelta(minutes=30 * place), email=f"p{place}@victims.example")
    await work_off(runtime, clock)
    clock.now = TEN + timedelta(hours=4)
    await lapse(runtime, clock)

    statuses = await runtime.pool.fetch("select status from mail_messages where kind = 'lapse'")
    assert [row["status"] for row in statuses] == ["sent"] * 6
