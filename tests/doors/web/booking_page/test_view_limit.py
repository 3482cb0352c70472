"""How often one address may open booking pages: far more than people do; then a page says when to come back."""

import asyncio
from collections import Counter

import httpx2

from openslot.domains.access.limits import operations as limits
from openslot.domains.bookings.public_api import READS
from openslot.domains.event_types.models import EventType
from openslot.doors.web.shared.views import VIEWS
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import LANGUAGES
from tests.doors.web.booking_page.conftest import PAGE, TEN, book
from tests.doors.web.booking_page.visiting import open_pages
from tests.support.page import read_page


async def test_whoever_opens_too_many_pages_is_told_when_to_come_back(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    managed = await book(client)
    await open_pages(runtime, VIEWS.max_)

    paths = ("/mara", PAGE, f"{PAGE}?month=2026-04", f"{PAGE}?start={TEN}", f"{PAGE}?view=zones", f"{PAGE}/qr.svg")
    for path in (*paths, f"{PAGE}/qr", managed, f"{managed}/reschedule", f"{managed}/cancel"):
        answer = await client.get(path)

        assert answer.status_code == 429, path
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert "frame-ancestors *" in answer.headers["content-security-policy"]
        assert "Too many requests" in read_page(answer).headings
        assert f'href="{path}"' in answer.text.replace("%3A", ":"), path


async def test_a_program_is_told_in_the_format_that_it_reads(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    await limits.take_from_buckets(runtime.pool, [f"{READS.name}:127.0.0.1"] * READS.max_, READS.max_)

    for path in ("/mara.json", f"{PAGE}.json"):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["error"]) == (429, "Too many requests"), path
        assert 1 <= int(answer.headers["retry-after"]) <= 60
    for path in ("/mara.md", f"{PAGE}.md"):
        answer = await client.get(path)
        assert answer.status_code == 429, path
        assert answer.headers["content-type"].startswith("text/markdown")
        assert answer.text.startswith("# Too many requests")
    assert (await client.get(PAGE, headers={"accept": "application/json"})).json()["error"] == "Too many requests"


async def test_a_page_counts_for_one_limit_only(client: httpx2.AsyncClient, runtime: Runtime, intro: EventType) -> None:
    managed = await book(client)
    for path, kind in (("/mara.json", None), (f"{PAGE}.md", None), (managed, "application/json"), (PAGE, "text/html")):
        await runtime.pool.execute("delete from rate_log")
        answer = await client.get(path, headers={"accept": kind} if kind else None)

        assert answer.status_code == 200
        logged = await runtime.pool.fetch("select bucket, cardinality(stamps) as count from rate_log")
        expected = VIEWS if kind == "text/html" else READS
        assert [(row["bucket"], row["count"]) for row in logged] == [(f"{expected.name}:127.0.0.1", 1)], path


async def test_the_reader_s_language_is_spoken(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    await open_pages(runtime, VIEWS.max_)
    for tag in LANGUAGES:
        answer = await client.get(f"/mara?lang={tag}")

        assert answer.status_code == 429, tag
        assert f'<html lang="{tag}"' in answer.text, tag
        assert ("too many requests in the last minute" in answer.text) == (tag == "en"), tag


async def test_the_last_page_within_the_limit_is_shown(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    await open_pages(runtime, VIEWS.max_ - 3)
    answers = await asyncio.gather(*(client.get(PAGE) for _ in range(8)))

    assert Counter(answer.status_code for answer in answers) == {200: 3, 429: 5}


async def test_other_addresses_and_other_pages_are_not_concerned(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    await open_pages(runtime, VIEWS.max_, "192.0.2.1")
    assert (await client.get(PAGE)).status_code == 200

    await open_pages(runtime, VIEWS.max_)
    assert (await client.get("/login")).status_code == 200
    assert (await client.get("/api/public/mara")).status_code == 200


async def test_nothing_is_read_for_a_page_that_is_refused(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    await open_pages(runtime, VIEWS.max_)

    assert (await client.get("/nobody/nothing")).status_code == 429


async def test_a_form_that_is_filled_in_wrongly_counts_as_a_page(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    managed = await book(client)
    await open_pages(runtime, VIEWS.max_)

    for path in (PAGE, f"{managed}/reschedule", f"{managed}/cancel"):
        answer = await client.post(path, data={"name": ""})
        assert (answer.status_code, "Too many requests" in read_page(answer).headings) == (429, True), path
    for path in (f"{managed}/calendar.ics", "/widget-demo"):
        assert (await client.get(path)).status_code == 429, path
