"""What hosts see of payments: the list, one payment, refunds, the booking's page, and what is mailed."""

import asyncio

import httpx2
import pytest

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.domains.event_types.models import EventType, Money
from openslot.domains.payments import operations
from openslot.domains.payments.models import Problem, StoredPayment
from openslot.domains.payments.words import PROBLEMS
from openslot.platform.core.actor import PUBLIC, SYSTEM, Actor
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages
from tests.domains.payments.support import book, book_and_pay, cancel, find, intent_of, money, session_of, tick
from tests.doors.web.event_types.conftest import offer
from tests.doors.web.payments.conftest import INVITEE
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books
from tests.support.host import open_session
from tests.support.page import read_page
from tests.support.payments import insert_connection
from tests.support.weights import weigh


async def list_mails(runtime: Runtime, to: str) -> list[tuple[str, str]]:
    """List what was mailed to someone: subjects and texts."""
    found = []
    for each in await messages(runtime, to):
        body = each.get_body(("plain",))
        assert body is not None
        found.append((str(each["subject"]), body.get_content()))
    return found


async def test_the_list_has_totals_a_filter_and_a_file(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    payment = await book_and_pay(member, runtime, paid, books)
    shown = read_page(await member.get("/payments"))
    assert [row[0] for row in shown.rows if "Jonas" in row[0]] == ["Jonas Okafor jonas@okafor.example"]
    assert "€49.00 received, €0.00 refunded" in shown.text
    assert f"/payments/{payment.id}" in shown.addresses

    assert payment.paid_at is not None
    day = str(payment.paid_at.date())
    for query, count in (
        ({"q": "OKAFOR"}, 1),
        ({"status": "paid", "from": day, "to": day}, 1),
        ({"q": "nobody"}, 0),
        ({"status": "refunded"}, 0),
        ({"to": "2026-03-01"}, 0),
    ):
        found = read_page(await member.get("/payments", params=query))
        assert len([row for row in found.rows if "Jonas" in row[0]]) == count, query
        # The total is that of what is listed.
        assert ("€49.00 received, €0.00 refunded" in found.text) is (count == 1), query
    file = (await member.get("/payments/export.csv")).text
    assert "49.00,0.00,EUR,Paid,test" in file
    assert await runtime.pool.fetchval("select currency from payments") == "EUR"


async def test_a_payment_names_every_problem_that_it_has(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    payment = await book_and_pay(member, runtime, paid, books)
    problems = [Problem.REFUND_FAILED, Problem.DISPUTED]
    await runtime.pool.execute("update payments set problems = $2 where id = $1", payment.id, problems)
    shown = read_page(await member.get(f"/payments/{payment.id}")).text

    first, last = (str(PROBLEMS[each][0]) for each in reversed(problems))
    assert shown.index(first) < shown.index(last)


async def test_the_list_says_once_that_all_of_it_is_test_mode_and_names_it_where_both_are_mixed(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    for hour in (10, 11, 12):
        payment = await book_and_pay(member, runtime, paid, books, f"2026-03-20T{hour}:00:00Z")
    await runtime.pool.execute("delete from revenue")
    shown = read_page(await member.get("/payments"))
    assert (shown.headings[0], shown.text.count("Test mode")) == ("Payments received Test mode", 1)
    await runtime.pool.execute("update payments set mode = 'live' where id = $1", payment.id)
    shown = read_page(await member.get("/payments"))
    assert (shown.headings[0], shown.text.count("Test mode")) == ("Payments received", 2)
    await runtime.pool.execute("update payments set mode = 'live'")
    assert "Test mode" not in read_page(await member.get("/payments")).text


async def test_only_who_can_be_paid_or_was_finds_the_page_in_the_navigation(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, stranger: User
) -> None:
    own = dict(member.headers)
    member.headers.update(await open_session(runtime, stranger))
    for path in ("/", "/pages", "/help/palette"):
        assert "/payments" not in read_page(await member.get(path)).addresses
    member.headers.update(own)
    for path in ("/", "/pages", "/help/palette"):
        assert "/payments" in read_page(await member.get(path)).addresses

    await book_and_pay(member, runtime, paid, books)
    await runtime.pool.execute("update payment_connections set disconnected_at = connected_at, key = null")
    assert "/payments" in read_page(await member.get("/")).addresses
    await runtime.pool.execute("delete from payments")
    assert "/payments" not in read_page(await member.get("/")).addresses


async def test_the_account_of_the_organization_brings_the_page_into_the_navigation(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, books: Books
) -> None:
    async with runtime.transaction(SYSTEM) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, organization, user)
    await insert_connection(runtime, books.key, organization_id=organization.id)
    assert "/payments" in read_page(await member.get("/")).addresses


async def test_a_part_is_refunded_and_never_more_than_is_left(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await book_and_pay(member, runtime, paid, books)
    path = f"/payments/{payment.id}/refund"
    assert read_page(await member.get(path)).fields["amount"].value == ""
    for amount, fault in (
        ("50", "at most €49.00"),
        ("0", "at most €49.00"),
        ("x", "Must be an amount"),
        ("", "Enter an amount"),
        (" ", "Enter an amount"),
    ):
        refused = await member.post(path, data={"amount": amount})
        assert refused.status_code == 400
        assert fault in read_page(refused).faults["amount"]
    assert (await member.post(path, data={"amount": "20"})).status_code == 303
    await tick(runtime, clock)
    assert money(books) == 2900

    shown = await member.get(f"/payments/{payment.id}")
    assert "Partly refunded" in shown.text
    assert "Another step" not in (await member.get(f"/bookings/{payment.booking_id}")).text
    assert "€20.00" in shown.text
    assert "Refund everything: €29.00" in read_page(await member.get(path)).buttons
    assert (await list_mails(runtime, INVITEE))[-1][0] == "Refund of €20.00"


async def test_only_an_explicit_choice_refunds_everything(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await book_and_pay(member, runtime, paid, books)
    path = f"/payments/{payment.id}/refund"
    for nothing in ({}, {"amount": ""}, {"left": "4900"}, {"amount": "", "left": "4900", "everything": "false"}):
        assert (await member.post(path, data=nothing)).status_code == 400, nothing
    await tick(runtime, clock)
    assert money(books) == 4900
    assert (await member.post(path, data={"amount": "", "left": "4900", "everything": "true"})).status_code == 303
    await tick(runtime, clock)
    assert money(books) == 0


async def test_a_form_that_is_sent_twice_refunds_once(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await book_and_pay(member, runtime, paid, books)
    path = f"/payments/{payment.id}/refund"
    sent = {"amount": "20", "left": read_page(await member.get(path)).fields["left"].value}
    answers = await asyncio.gather(member.post(path, data=sent), member.post(path, data=sent))
    assert sorted(each.status_code for each in answers) == [303, 400]
    await tick(runtime, clock)
    assert money(books) == 2900

    refused = read_page(await member.post(path, data=sent))
    assert "nothing more is refunded" in refused.text
    assert refused.fields["left"].value == "2900"


async def test_another_hosts_payment_is_not_found(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, stranger: User
) -> None:
    payment = await book_and_pay(member, runtime, paid, books)
    member.headers.update(await open_session(runtime, stranger))
    for path in (f"/payments/{payment.id}", f"/payments/{payment.id}/refund"):
        assert (await member.get(path)).status_code == 404
    assert (await member.post(f"/payments/{payment.id}/refund", data={"amount": "1"})).status_code == 404
    assert "Jonas" not in (await member.get("/payments")).text


async def test_the_bookings_page_and_the_question_before_cancelling_name_the_money(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    await runtime.pool.execute("update event_types set refund_policy = 'none' where id = $1", paid.id)
    payment = await book_and_pay(member, runtime, paid, books)
    shown = await member.get(f"/bookings/{payment.booking_id}")
    assert "€49.00 paid" in shown.text
    assert f"/payments/{payment.id}/refund" in shown.text
    assert "€49.00 will be refunded" in (await member.get(f"/bookings/{payment.booking_id}/cancel")).text

    await member.post(f"/bookings/{payment.booking_id}/cancel", data={"reason": ""})
    await tick(runtime, clock)
    assert money(books) == 0
    mails = await list_mails(runtime, INVITEE)
    assert any("Confirmed" in subject and "€49.00 paid" in text for subject, text in mails)
    assert any("Cancelled" in subject and "€49.00 will be refunded" in text for subject, text in mails)


@pytest.mark.parametrize(
    ("policy", "actor", "shown"),
    [
        ("full", PUBLIC, "Refund Done: today"),
        ("none", PUBLIC, "the refund policy is: No refund if you cancel skipped"),
        ("until:720", PUBLIC, "the refund policy is: Full refund until 30 days before the start skipped"),
        ("none", SYSTEM, "Refund Done: today"),
    ],
)
async def test_the_timeline_says_in_words_what_became_of_the_money(
    member: httpx2.AsyncClient,
    runtime: Runtime,
    paid: EventType,
    books: Books,
    clock: MovingClock,
    policy: str,
    actor: Actor,
    shown: str,
) -> None:
    await runtime.pool.execute("update event_types set refund_policy = $2 where id = $1", paid.id, policy)
    payment = await book_and_pay(member, runtime, paid, books)
    await cancel(runtime, payment, actor)
    await tick(runtime, clock)
    page = read_page(await member.get(f"/bookings/{payment.booking_id}"))
    assert shown in page.text
    assert "Another step" not in page.text
    assert f"policy is {policy}" not in page.text
    assert page.text.count("skipped") == int("skipped" in shown)


async def test_the_pages_stay_light(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    payment = await book_and_pay(member, runtime, paid, books)
    for path in ("/payments", f"/payments/{payment.id}", f"/payments/{payment.id}/refund", "/settings/payments"):
        weight = await weigh(member, path)
        assert weight.on_the_wire <= 40_000, (path, weight)
        assert weight.unpacked <= 69_000, (path, weight)


async def test_a_dispute_is_mailed_to_the_host_and_shown(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment: StoredPayment = await book_and_pay(member, runtime, paid, books)
    books.dispute(intent_of(payment))
    await operations.read_anew(runtime, payment.id)
    await tick(runtime, clock)

    assert "A payment is disputed" in (await member.get(f"/payments/{payment.id}")).text
    assert "Disputed" in (await member.get("/payments")).text
    assert f"/payments/{payment.id}" in read_page(await member.get("/")).addresses
    assert "A payment is disputed" in [subject for subject, _ in await list_mails(runtime, "mara@lindqvist.example")]


async def test_the_calendar_names_the_payment_of_the_chosen_booking(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    payment = await book_and_pay(member, runtime, paid, books)
    books.refund(intent_of(payment), 900)
    await operations.read_anew(runtime, payment.id)
    shown = read_page(await member.get(f"/bookings/week?date=2026-03-20&booking={payment.booking_id}"))
    assert "Payment €49.00 paid, €9.00 refunded Partly refunded Test mode" in shown.text
    assert {f"/payments/{payment.id}", f"/payments/{payment.id}/refund"} <= set(shown.addresses)


async def test_the_calendar_names_the_payment_of_each_seat(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    await runtime.pool.execute("update event_types set seats = 4 where id = $1", paid.id)
    first = await book_and_pay(member, runtime, paid, books)
    answer = await book(member, paid, inviteeName="Hana Kim", inviteeEmail="hana@kim.example")
    second = await find(runtime, answer)
    books.pay(session_of(second))
    await operations.read_anew(runtime, second.id)
    books.refund(intent_of(first), 4900)
    await operations.read_anew(runtime, first.id)

    shown = read_page(await member.get(f"/bookings/week?date=2026-03-20&booking={first.booking_id}"))
    assert "Jonas Okafor€49.00 paid, €49.00 refunded Refunded" in shown.text
    assert "Hana Kim€49.00 paid Paid" in shown.text


async def test_the_question_before_cancelling_several_names_what_goes_back_in_each_currency(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, paid: EventType, books: Books, clock: MovingClock
) -> None:
    await runtime.pool.execute("update event_types set refund_policy = 'none' where id = $1", paid.id)
    yen = await offer(runtime, user, "yen", price=Money(4900, "JPY"))
    refunded, whole, other = [
        await book_and_pay(member, runtime, event_type, books, f"2026-03-20T{hour}:00:00Z")
        for event_type, hour in ((paid, 10), (paid, 11), (yen, 12))
    ]
    books.refund(intent_of(refunded), 900)
    await operations.read_anew(runtime, refunded.id)
    ids = [str(each.booking_id) for each in (refunded, whole, other)]

    asked = read_page(await member.post("/bookings/selected/cancel", data={"id": ids}))
    assert "it was paid with: €89.00 Test mode, JP¥4,900 Test mode" in asked.text
    only = read_page(await member.post("/bookings/selected/cancel", data={"id": ids[2:]}))
    assert "it was paid with: JP¥4,900 Test mode" in only.text
    await member.post("/bookings/selected/cancel/confirm", data={"ids": ",".join(ids), "reason": ""})
    await tick(runtime, clock)
    assert money(books) == 0


async def test_the_question_before_cancelling_is_silent_about_money_that_nobody_paid(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, user: User
) -> None:
    free = await offer(runtime, user, "free")
    booking = (await book(member, free)).json()["bookingId"]
    payment = await book_and_pay(member, runtime, paid, books, "2026-03-20T11:00:00Z")
    books.refund(intent_of(payment), 4900)
    await operations.read_anew(runtime, payment.id)
    asked = await member.post("/bookings/selected/cancel", data={"id": [booking, str(payment.booking_id)]})
    assert "Cancel 2 bookings?" in asked.text
    assert "refunded" not in asked.text.partition("<main")[2]
