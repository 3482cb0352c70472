"""An export holds everything that is kept about a user, and nothing that is secret."""

import asyncio
import csv
import io
import json
import tracemalloc
import zipfile
from datetime import timedelta
from functools import partial
from typing import Any

import httpx2
import icalendar
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.domains.accounts.plans import Plan
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import UNAVAILABLE, BookingRef
from openslot.domains.exports import archives, store, writers
from openslot.domains.exports import operations as exports
from openslot.domains.exports.archives import AttemptLost, make_export
from openslot.domains.exports.errors import ExportInProgress, ExportLimitExceeded, ExportNotFound
from openslot.domains.exports.files import FILES, NOT_EXPORTED
from openslot.domains.exports.models import ExportFile, ExportState
from openslot.domains.exports.reactions import delete_expired
from openslot.domains.mail import operations as mail
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.secrets import SealBroken
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime
from tests.domains.exports.support import export, read, request
from tests.support.bookings import copy_booking
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import Book
from tests.support.rich_account import SECRET, furnish, list_personal_tables

DAY = timedelta(days=1)


def load(file: zipfile.ZipFile, name: str) -> Any:
    return json.loads(file.read(name))


async def test_every_table_of_a_user_is_exported_or_has_a_reason_not_to_be(runtime: Runtime) -> None:
    exported = {table for file in FILES for table in file.tables}

    assert exported & NOT_EXPORTED.keys() == set()
    assert exported | NOT_EXPORTED.keys() == await list_personal_tables(runtime)
    assert all(len(reason) > 10 for reason in NOT_EXPORTED.values())


async def test_everything_of_a_user_is_in_the_file_and_readable(
    runtime: Runtime, user: User, clock: MovingClock
) -> None:
    await furnish(runtime, user)
    await work_off(runtime, clock)

    file = await export(runtime, user)

    assert file.testzip() is None
    assert file.namelist() == [*(each.name for each in FILES), "README.txt"]
    readme = file.read("README.txt").decode()
    for each in FILES:
        assert each.name in readme
        if each.name.endswith(".json"):
            assert load(file, each.name), each.name
    assert load(file, "account.json")["email"] == user.email
    assert load(file, "messages.json")[0]["content"] == "Could we meet later?"
    assert {"user.added", "booking.created"} <= {each["type"] for each in load(file, "activity.json")}
    (text,) = [each["text"] for each in load(file, "emails.json") if "text" in each]
    assert "has booked a meeting with you" in text


async def test_no_secret_is_in_the_file(runtime: Runtime, user: User, clock: MovingClock, password_hash: str) -> None:
    booking = await furnish(runtime, user)
    await work_off(runtime, clock)
    file = await export(runtime, user)
    text = "\n".join(file.read(name).decode() for name in file.namelist())
    hashes = [
        *await runtime.pool.fetch("select hash from api_keys union all select hash from sessions"),
        *await runtime.pool.fetch("select token_hash from calendar_feeds union all select hash from invitations"),
    ]

    for secret in (SECRET, SECRET.encode().hex(), password_hash, "/manage/", "whsec_", "secret-path", "$argon2"):
        assert secret not in text, secret
    assert len(hashes) >= 4
    for row in hashes:
        assert bytes(next(iter(row.values()))).hex() not in text
    assert str(booking.id) in text


async def test_bookings_contacts_and_event_types_have_the_shape_of_the_rest_api(
    runtime: Runtime, user: User, client: httpx2.AsyncClient
) -> None:
    booking = await furnish(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        await bookings.write_private_notes(work, user, booking.id, "Bring the two layouts")
        await work.db.execute("update bookings set source = 'newsletter'")
        key, _ = await access.create_api_key(work, user, name="test")
    assert user.plan is Plan.PRO
    headers = {"authorization": f"Bearer {key}"}
    file = await export(runtime, user)

    async def ask(path: str) -> Any:
        answer = await client.get(f"/api/v1{path}", headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    shown = await ask(f"/bookings/{booking.id}")
    kept = {name: value for name, value in shown.items() if name not in {"manageUrl", "emailLogs"}}
    at = iso(runtime.clock())
    request = {"state": "confirmed", "lapsesAt": at, "reason": None, "endedAt": at}
    more = {"privateNotes": "Bring the two layouts", "source": "newsletter", "request": request}
    assert load(file, "bookings.json") == [{**kept, **more}]
    assert load(file, "contacts.json") == (await ask("/contacts"))["data"]
    (listed,) = (await ask("/event-types"))["data"]
    assert load(file, "event-types.json") == [await ask(f"/event-types/{listed['id']}")]
    assert load(file, "calls.json") == (await ask("/calls"))["data"]


async def test_payments_are_in_the_file_with_their_refunds(runtime: Runtime, user: User) -> None:
    booking = await furnish(runtime, user)
    file = await export(runtime, user)

    (payment,) = load(file, "payments.json")
    (refund,) = payment["refunds"]
    (row,) = csv.DictReader(io.StringIO(file.read("payments.csv").decode("utf-8-sig")))

    assert (payment["bookingId"], payment["status"]) == (str(booking.id), "partially_refunded")
    assert (payment["amount"], payment["currency"], payment["refundedAmount"]) == (4900, "EUR", 900)
    assert (refund["amount"], refund["status"], refund["refundId"]) == (900, "succeeded", "re_1")
    assert (row["amount"], row["currency"], row["paymentIntentId"]) == ("4900", "EUR", "pi_1")


async def test_tables_and_the_calendar_can_be_opened(runtime: Runtime, user: User) -> None:
    booking = await furnish(runtime, user)
    file = await export(runtime, user)

    (row,) = csv.DictReader(io.StringIO(file.read("bookings.csv").decode("utf-8-sig")))
    assert (row["inviteeName"], row["eventType.name"], row["guests"]) == (
        "Jonas Okafor",
        "30 minute meeting",
        "li@okafor.example",
    )
    assert row["notes"] == "'=HYPERLINK(1)"
    (contact,) = csv.DictReader(io.StringIO(file.read("contacts.csv").decode("utf-8-sig")))
    assert contact["email"] == "jonas@okafor.example"
    calendar = icalendar.Calendar.from_ical(file.read("bookings.ics"))
    assert [str(event["uid"]) for event in calendar.walk("VEVENT")] == [booking.uid]


async def test_a_reason_of_ours_is_english_in_the_files(runtime: Runtime, user: User) -> None:
    booking = await furnish(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        ref = BookingRef(booking.id, None)
        await bookings.cancel_booking(work, ref, reason=UNAVAILABLE.fill(host='Mara "M" Ö'))
    file = await export(runtime, user)

    said = 'Mara "M" Ö is not available any more'
    (shown,) = load(file, "bookings.json")
    (row,) = csv.DictReader(io.StringIO(file.read("bookings.csv").decode("utf-8-sig")))
    assert (shown["cancelReason"], row["cancelReason"]) == (said, said)


async def test_an_empty_account_gives_a_whole_file(runtime: Runtime, user: User) -> None:
    file = await export(runtime, user)

    assert load(file, "bookings.json") == []
    assert not icalendar.Calendar.from_ical(file.read("bookings.ics")).walk("VEVENT")
    assert len(file.read("bookings.csv").splitlines()) == 1


async def test_nothing_of_another_user_is_in_the_file(
    runtime: Runtime, user: User, stranger: User, clock: MovingClock, book: Book
) -> None:
    await furnish(runtime, user)
    await book(host=stranger, name="Somebody Else", email="else@where.example")
    await work_off(runtime, clock)

    file = await export(runtime, stranger)

    text = "\n".join(file.read(name).decode() for name in file.namelist())
    assert "Somebody Else" in text
    for foreign in ("Jonas", "mara", "Lindqvist", str(user.id)):
        assert foreign not in text


@pytest.mark.rest("fills the database with much")
async def test_memory_stays_small_however_much_there_is(
    runtime: Runtime, user: User, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    booking = await book(notes="x")
    await runtime.pool.execute("update bookings set notes = repeat('x', 20000)")
    await copy_booking(runtime, str(booking.id), 100)
    monkeypatch.setattr(archives, "PIECE", 8 * 1024)
    monkeypatch.setattr(writers, "read_batches", partial(writers.read_batches, size=5))
    monkeypatch.setattr(writers, "EVENTS", 1)
    export_id = await request(runtime, user)
    tracemalloc.start()
    await make_export(runtime, export_id)
    _, max_ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # The bookings alone are 2 MB, and take four times as much when all are read at once; a batch of 5 is 0.1 MB.
    assert max_ < 2 * 1024 * 1024
    assert await runtime.pool.fetchval("select count(*) from data_export_pieces") > 3
    file = zipfile.ZipFile(io.BytesIO(await read(runtime, user, export_id)))
    assert len(load(file, "bookings.json")) == 101


async def test_one_at_a_time_and_three_a_day(runtime: Runtime, user: User, clock: MovingClock) -> None:
    first = await request(runtime, user)
    with pytest.raises(ExportInProgress):
        await request(runtime, user)
    await make_export(runtime, first)
    for _ in range(2):
        clock.now += timedelta(minutes=1)
        await make_export(runtime, await request(runtime, user))
    with pytest.raises(ExportLimitExceeded):
        await request(runtime, user)
    clock.now += DAY

    assert await request(runtime, user) is not None


async def test_two_requests_at_once_make_one_export(runtime: Runtime, user: User) -> None:
    results = await asyncio.gather(*(request(runtime, user) for _ in range(5)), return_exceptions=True)

    assert sorted(type(each).__name__ for each in results) == ["ExportInProgress"] * 4 + ["UUID"]
    assert await runtime.pool.fetchval("select count(*) from data_exports") == 1


async def test_the_worker_makes_it_and_mails_a_link(runtime: Runtime, user: User, clock: MovingClock) -> None:
    await request(runtime, user)
    await work_off(runtime, clock)

    (made,) = await exports.list_exports(runtime.work(OPERATOR), user)
    assert (made.state, made.files_done) == (ExportState.READY, len(FILES))
    work = runtime.work(OPERATOR)
    (sent,) = await mail.list_kept_mails(work, recipient=user.email, booking_id=None, limit=5)
    assert sent.subject == "Your data is ready to download"
    _, content = await mail.get_mail(work, sent.id)
    assert b"/settings/data" in (content or b"")
    assert str(made.id).encode() not in (content or b"")


async def test_files_are_read_with_custom_plans(runtime: Runtime, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    as_text = writers.as_object("select current_setting('plan_cache_mode') where $1::uuid is not null")
    probe = ExportFile(name="plans.txt", about="How it was read", tables=(), write=as_text)
    monkeypatch.setattr(archives, "FILES", (probe,))

    file = await export(runtime, user)

    assert file.read("plans.txt") == b"force_custom_plan"


async def test_a_worker_that_dies_leaves_nothing_that_the_next_one_keeps(
    runtime: Runtime, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_id = await request(runtime, user)
    with monkeypatch.context() as patch:
        patch.setattr("openslot.domains.exports.archives.PIECE", 100)
        patch.setattr(archives.PieceWriter, "close", _die)
        with pytest.raises(KeyboardInterrupt):
            await make_export(runtime, export_id)
    assert await runtime.pool.fetchval("select count(*) from data_export_pieces") > 1

    await make_export(runtime, export_id)

    assert zipfile.ZipFile(io.BytesIO(await read(runtime, user, export_id))).testzip() is None
    assert await runtime.pool.fetchval("select count(*) from data_export_pieces") == 1


async def test_an_attempt_that_was_overtaken_writes_nothing(
    runtime: Runtime, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_id = await request(runtime, user)
    original = archives.PieceWriter.close

    async def overtaken(self: archives.PieceWriter) -> None:
        monkeypatch.setattr(archives.PieceWriter, "close", original)
        await make_export(runtime, export_id)
        await original(self)

    monkeypatch.setattr(archives.PieceWriter, "close", overtaken)
    with pytest.raises(AttemptLost):
        await make_export(runtime, export_id)

    assert zipfile.ZipFile(io.BytesIO(await read(runtime, user, export_id))).testzip() is None
    assert await runtime.pool.fetchval("select count(*) from events where type = 'user.data_exported'") == 1


async def test_a_file_that_grows_too_large_is_given_up(
    runtime: Runtime, user: User, clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_BYTES", 10)
    await request(runtime, user)
    await work_off(runtime, clock)

    (made,) = await exports.list_exports(runtime.work(OPERATOR), user)
    assert made.state is ExportState.FAILED
    assert await runtime.pool.fetchval("select count(*) from data_export_pieces") == 0
    monkeypatch.undo()
    assert await request(runtime, user) is not None


async def test_after_its_time_the_file_is_gone(runtime: Runtime, user: User, clock: MovingClock) -> None:
    export_id = await request(runtime, user)
    await make_export(runtime, export_id)
    clock.now += timedelta(days=7)
    with pytest.raises(ExportNotFound):
        await read(runtime, user, export_id)

    await delete_expired(runtime.work(OPERATOR))

    assert await runtime.pool.fetchval("select count(*) from data_export_pieces") == 0
    clock.now += timedelta(days=3)
    await delete_expired(runtime.work(OPERATOR))
    assert await runtime.pool.fetchval("select count(*) from data_exports") == 0


async def test_a_new_export_replaces_the_file_of_the_last(runtime: Runtime, user: User, clock: MovingClock) -> None:
    first = await request(runtime, user)
    await make_export(runtime, first)
    clock.now += timedelta(hours=1)
    second = await request(runtime, user)
    await make_export(runtime, second)

    with pytest.raises(ExportNotFound):
        await read(runtime, user, first)
    assert await read(runtime, user, second)


async def test_pieces_are_sealed_and_none_fits_in_anothers_place(runtime: Runtime, user: User) -> None:
    export_id = await request(runtime, user)
    await make_export(runtime, export_id)
    sealed = await store.find_piece(runtime.pool, export_id, 0)
    assert sealed is not None
    assert b"account.json" not in sealed
    await runtime.pool.execute("insert into data_export_pieces select export_id, 1, sealed from data_export_pieces")
    await runtime.pool.execute("update data_exports set size = size * 2")

    with pytest.raises(SealBroken):
        await read(runtime, user, export_id)


async def _die(_: archives.PieceWriter) -> None:
    raise KeyboardInterrupt
