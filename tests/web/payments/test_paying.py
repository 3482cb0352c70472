"""Booking pages of meetings that cost something: the price, the way to the checkout, and what comes of it."""

import httpx2

from openslot.core.work import Runtime
from openslot.event_types.models import EventType
from tests.integrations.mail.conftest import messages
from tests.payments.support import tick
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books, FakeStripe
from tests.support.page import read_page
from tests.web.payments.conftest import INVITEE, PAGE, book, filled, manage_of


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
    session = await book(client)
    books.pay(session)
    path = manage_of(books, session).partition("?")[0]
    await client.get(f"{path}?payment=done")

    early = await client.get(f"{path}/cancel")
    assert "€49.00 will be refunded" in early.text
    clock.pass_time(hours=24 * 3 + 4)
    late = await client.get(f"{path}/cancel")
    assert "€49.00 will not be refunded" in late.text
    assert "Full refund until 24 hours before the start" in late.text


async def test_a_strangers_link_opens_nothing(client: httpx2.AsyncClient, paid: EventType) -> None:
    assert (await client.get("/manage/AZl8Lm")).status_code == 404
    assert (await client.post("/manage/AZl8Lm/give-up")).status_code == 404
