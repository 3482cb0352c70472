"""A user asks for all data, sees how far it is, and is the only one who can download it."""

import io
import zipfile
from datetime import timedelta
from uuid import UUID

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.exports import operations as exports
from openslot.domains.exports.archives import make_export
from openslot.domains.exports.files import FILES
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.forms import NOBODY
from tests.support.host import Book
from tests.support.page import read_page

PAGE = "/settings/data"


async def test_without_an_export_the_page_says_the_next_step(member: httpx2.AsyncClient) -> None:
    page = (await member.get(PAGE)).text

    assert "There is no export yet. Request one" in page
    assert "Delete your account…" in page


async def test_it_is_requested_made_and_downloaded(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openslot.domains.exports.archives.PIECE", 1000)
    await book()
    answer = await member.post(f"{PAGE}/export")
    assert answer.headers["location"] == f"{PAGE}?done=requested"
    page = (await member.get(answer.headers["location"])).text
    assert f"0 of {len(FILES)} files" in page
    assert "Request an export" not in page
    assert "data-palette" in page
    refused = await member.post(f"{PAGE}/export")
    assert refused.status_code == 409
    assert read_page(refused).notices == ["An export is already in progress. Wait until it is ready."]
    await work_off(runtime, clock)

    page = (await member.get(PAGE)).text

    assert "</svg>Ready</span>" in page
    assert "available until Monday 23 March, 08:00" in page
    export_id = await runtime.pool.fetchval("select id from data_exports")
    file = await member.get(f"{PAGE}/{export_id}/download")
    assert file.status_code == 200
    assert file.headers["content-type"] == "application/zip"
    assert file.headers["content-disposition"] == "attachment; filename=openslot-mara-2026-03-16.zip"
    assert file.headers["cache-control"] == "no-store"
    assert int(file.headers["content-length"]) == len(file.content)
    assert await runtime.pool.fetchval("select count(*) from data_export_pieces") > 3
    assert zipfile.ZipFile(io.BytesIO(file.content)).testzip() is None
    head = await member.head(f"{PAGE}/{export_id}/download")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == file.headers["content-length"]


async def test_another_users_export_is_the_same_404_as_none(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        theirs: UUID = await exports.request_data_export(work, stranger)
    await make_export(runtime, theirs)

    answers = [await member.get(f"{PAGE}/{each}/download") for each in (theirs, NOBODY)]

    assert [each.status_code for each in answers] == [404, 404]
    assert answers[0].text == answers[1].text
    assert str(theirs) not in (await member.get(PAGE)).text


async def test_without_a_session_nothing_is_downloaded(
    client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        export_id = await exports.request_data_export(work, user)
    await make_export(runtime, export_id)

    answer = await client.get(f"{PAGE}/{export_id}/download")

    assert answer.headers["location"].startswith("/login")


async def test_a_file_that_is_not_ready_or_expired_is_no_page(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock
) -> None:
    await member.post(f"{PAGE}/export")
    export_id = await runtime.pool.fetchval("select id from data_exports")
    assert (await member.get(f"{PAGE}/{export_id}/download")).status_code == 404
    await work_off(runtime, clock)
    clock.now += timedelta(days=7)

    assert (await member.get(f"{PAGE}/{export_id}/download")).status_code == 404


async def test_the_fourth_of_a_day_is_refused_with_a_sentence(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock
) -> None:
    for _ in range(3):
        assert (await member.post(f"{PAGE}/export")).status_code == 303
        await work_off(runtime, clock)
    answer = await member.post(f"{PAGE}/export")

    assert answer.status_code == 429
    assert read_page(answer).notices == ["You can request 3 exports a day. Try again tomorrow."]
    assert await runtime.pool.fetchval("select count(*) from data_exports") == 3
