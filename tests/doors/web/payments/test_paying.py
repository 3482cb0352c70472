"""Booking pages of meetings that cost something: the price, the way to the checkout, and what comes of it."""

import asyncio

import httpx2
import pytest

from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages
from tests.domains.payments.support import TEN, tick
from tests.doors.web.payments.conftest import INVITEE, PAGE, SESSION, book, filled, manage_of
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books, FakeStripe
from tests.support.page import read_page


async def test_the_page_names_the_price_and_what_goes_back(client: httpx2.AsyncClient, paid: EventType) -> None:
    shown = await client.get(PAGE, params={"start": "2026-03-20T10:00:00Z"})

    assert "Continue to payment · €49.00" in shown.text
    assert "Full refund if you cancel" in shown.text
    assert "form-action 'self' https: http://127.0.0.1:" in shown.headers["content-security-policy"]


async def test_the_form_leads_to_the_checkout_and_back_to_a_confirmed_booking(
    client: httpx2.AsyncClient, paid: EventType, books: Books
) -> None:
    session = await book(client)
    waiting = await client.get(manage_of(books, session, "back"))
    assert "Your time is held until 08:33" in waiting.text
    assert books.objects[session]["url"] in waiting.text
    assert "Test mode" in waiting.text
    assert "calendar.ics" not in waiting.text

    books.pay(session)
    landed = await client.get(manage_of(books, session))
    assert landed.status_code == 303
    confirmed = await client.get(landed.headers["location"])
    assert read_page(confirmed).headings[0] == "Your meeting is confirmed"
    assert "€49.00 paid" in confirmed.text
    assert "Receipt" in confirmed.text
    assert "Test mode" in confirmed.text


async def test_in_a_frame_the_form_leads_to_the_booking_which_opens_the_checkout_in_the_whole_window(
    client: httpx2.AsyncClient, paid: EventType
) -> None:
    answer = await client.post(f"{PAGE}?embed=1", data=filled())
    assert answer.headers["location"].startswith("/manage/")
    waiting = await client.get(answer.headers["location"])
    assert 'target="_top"' in waiting.text
    assert "Continue to payment" in waiting.text


async def test_a_fault_of_the_provider_shows_what_was_typed(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, fake_stripe: FakeStripe
) -> None:
    fake_stripe.is_down = True
    refused = await client.post(PAGE, data=filled(notes="Pricing"))

    assert refused.status_code == 503
    assert "Nothing was booked or paid" in refused.text
    assert read_page(refused).fields["name"].value == "Jonas Okafor"
    fake_stripe.is_down = False
    await book(client)


async def test_whoever_gives_up_frees_the_time_and_can_choose_another(
    client: httpx2.AsyncClient, paid: EventType, books: Books
) -> None:
    session = await book(client)
    path = manage_of(books, session).partition("?")[0]
    given_up = await client.post(f"{path}/give-up")
    assert given_up.status_code == 303
    released = await client.get(given_up.headers["location"])

    assert read_page(released).headings[0] == "The time was released"
    assert 'href="/mara/paid"' in released.text
    assert books.objects[session]["status"] == "expired"
    await book(client)


async def test_whoever_has_paid_can_not_give_up_any_more(
    client: httpx2.AsyncClient, paid: EventType, books: Books
) -> None:
    session = await book(client)
    books.pay(session)
    path = manage_of(books, session).partition("?")[0]
    given_up = await client.post(f"{path}/give-up")
    assert "€49.00 paid" in (await client.get(given_up.headers["location"])).text


@pytest.mark.rest("waits for seconds")
async def test_without_the_provider_nothing_is_given_up(
    client: httpx2.AsyncClient, paid: EventType, books: Books, fake_stripe: FakeStripe
) -> None:
    session = await book(client)
    fake_stripe.is_down = True
    path = manage_of(books, session).partition("?")[0]
    refused = await client.post(f"{path}/give-up")
    assert refused.status_code == 503
    assert "can&#39;t be reached" in refused.text
    assert "Continue to payment" in refused.text


async def test_an_expired_checkout_says_that_the_time_was_released(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    session = await book(client)
    clock.pass_time(minutes=37)
    released = await client.get(manage_of(books, session, "back"))
    assert read_page(released).headings[0] == "The time was released"


async def test_a_delayed_method_keeps_the_time_for_a_while(
    client: httpx2.AsyncClient, paid: EventType, books: Books
) -> None:
    session = await book(client)
    books.pay_later(session)
    waiting = await client.get(manage_of(books, session))

    assert read_page(waiting).headings[0] == "Your payment is being processed"
    assert "Thursday 19 March" in waiting.text
    assert "data-waits" in waiting.text
    assert "Give up" not in waiting.text


async def test_money_that_comes_when_the_time_is_gone_is_said_to_go_back(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    late = await book(client)
    books.pay_later(late)
    await client.get(manage_of(books, late))
    clock.pass_time(hours=24 * 3 + 4)
    await tick(runtime, clock)
    books.pay(await book(client, email="other@okafor.example"))
    books.money_arrives(late)

    shown = await client.get(manage_of(books, late))
    assert read_page(shown).headings[0] == "The time was gone when your payment came"
    assert "€49.00 is being refunded" in shown.text
    await tick(runtime, clock)
    for address, told in (("mara@lindqvist.example", "A payment came too late"), (INVITEE, "Refund of €49.00")):
        assert [str(each["subject"]) for each in await messages(runtime, address)].count(told) == 1


async def test_cancelling_says_first_what_happens_to_the_money(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    await runtime.pool.execute("update event_types set refund_policy = 'until:24' where id = $1", paid.id)
    session = await book(client, price="4900 EUR until:24")
    books.pay(session)
    path = manage_of(books, session).partition("?")[0]
    await client.get(f"{path}?payment=done")

    early = await client.get(f"{path}/cancel")
    assert "€49.00 will be refunded" in early.text
    clock.pass_time(hours=24 * 3 + 4)
    late = await client.get(f"{path}/cancel")
    assert "€49.00 will not be refunded" in late.text
    assert "Full refund until 24 hours before the start" in late.text


async def test_a_form_that_is_sent_twice_leads_to_the_same_checkout(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    fields = read_page(await client.get(PAGE, params={"start": TEN})).fields
    key = fields["key"].value
    assert fields["price"].value == "4900 EUR full"
    answers = await asyncio.gather(*(client.post(PAGE, data=filled(key=key)) for _ in range(3)))
    assert [each.status_code for each in answers] == [303, 303, 303]
    (address,) = {each.headers["location"] for each in answers}
    assert len(books.list("checkout.session")) == 1

    session = SESSION.search(address)
    assert session is not None
    books.pay(session.group())
    await client.get(manage_of(books, session.group()))
    again = await client.post(PAGE, data=filled(key=key))
    assert "€49.00 paid" in (await client.get(again.headers["location"])).text
    assert await runtime.pool.fetchval("select count(*) from bookings") == 1


async def test_only_who_has_the_form_is_led_to_its_checkout(client: httpx2.AsyncClient, paid: EventType) -> None:
    key = read_page(await client.get(PAGE, params={"start": TEN})).fields["key"].value
    assert (await client.post(PAGE, data=filled(key=key))).status_code == 303
    other = read_page(await client.get(PAGE, params={"start": "2026-03-20T11:00:00Z"})).fields["key"].value
    assert other != key
    for changes in ({"key": other}, {"key": ""}, {"key": "x"}, {"key": key, "email": "eve@evil.example"}):
        refused = await client.post(PAGE, data=filled(**changes))
        assert refused.status_code == 409, changes
        assert "cs_" not in refused.text


async def test_a_form_whose_time_was_released_books_it_again(
    client: httpx2.AsyncClient, paid: EventType, books: Books
) -> None:
    key = read_page(await client.get(PAGE, params={"start": TEN})).fields["key"].value
    first = await book(client, key=key)
    await client.post(f"{manage_of(books, first).partition('?')[0]}/give-up")
    assert await book(client, key=key) != first


async def test_a_price_or_policy_that_has_changed_is_shown_before_anything_is_booked(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    changes = (
        ("""price = '{"amount": 5900, "currency": "EUR"}'""", "Continue to payment · €59.00"),
        ("""price = '{"amount": 5900, "currency": "USD"}'""", "Continue to payment · US$59.00"),
        ("refund_policy = 'none'", "No refund if you cancel"),
    )
    seen = "4900 EUR full"
    for change, shown in changes:
        await runtime.pool.execute(f"update event_types set {change} where id = $1", paid.id)
        refused = await client.post(PAGE, data=filled(price=seen, notes="Pricing"))
        assert refused.status_code == 409
        assert "has changed the price or the refund policy" in refused.text
        assert shown in refused.text
        assert read_page(refused).fields["notes"].value == "Pricing"
        seen = read_page(refused).fields["price"].value
    assert (books.list("checkout.session"), await runtime.pool.fetchval("select count(*) from bookings")) == ([], 0)
    session = await book(client, price=seen)
    assert books.objects[session]["amount_total"] == 5900


async def test_a_meeting_that_was_free_when_the_form_was_opened_names_its_price_first(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType
) -> None:
    refused = await client.post(PAGE, data=filled(price=""))
    assert (refused.status_code, "€49.00" in refused.text) == (409, True)
    await runtime.pool.execute("update event_types set price = null")
    assert (await client.post(PAGE, data=filled())).headers["location"].startswith("/manage/")


async def test_a_strangers_link_opens_nothing(client: httpx2.AsyncClient, paid: EventType) -> None:
    assert (await client.get("/manage/AZl8Lm")).status_code == 404
    assert (await client.post("/manage/AZl8Lm/give-up")).status_code == 404
