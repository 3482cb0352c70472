"""Where a booking's visitor came from: named as visits are, told from page to page, kept for the host alone."""

import asyncio
import html
import re
from typing import Any

import httpx2
import pytest

from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from tests.doors.web.booking_page.conftest import PAGE, TEN, filled
from tests.support.page import read_page

SEARCH = {"referer": "https://www.search.example/?q=jonas@okafor.example"}
SHOP = "embed=1&embed_origin=https://shop.example"
BROWSER = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"}
HOSTILE = {
    "huge": "a" * 100_000,
    "HTML": "<script>alert(1)</script>",
    "a person": "jonas@okafor.example",
    "Unicode": "Größe\u202e",
    "an address": "https://mail.example/inbox?id=7",
}


def own(client: httpx2.AsyncClient, path: str) -> dict[str, str]:
    """Come from another page of the installation."""
    return {"referer": f"{str(client.base_url).rstrip('/')}{path}"}


async def source_of(runtime: Runtime) -> str | None:
    source: str | None = await runtime.pool.fetchval("select source from bookings")
    return source


@pytest.mark.parametrize(
    ("query", "headers", "source"),
    [
        ("", {}, "direct"),
        ("", SEARCH, "search.example"),
        ("?utm_source=News%20Letter", SEARCH, "news letter"),
        ("?utm_source=%3Cb%3E", {}, "other"),
        (f"?{SHOP}", {"referer": "https://shop.example/"}, "shop.example"),
        ("?came_from=search.example", {}, "direct"),
        ("?came_from=search.example", {"referer": "https://chat.example/"}, "chat.example"),
    ],
    ids=["direct", "site", "campaign", "hostile campaign", "widget", "a shared address", "linked by a site"],
)
async def test_plain_steps_keep_where_a_visitor_came_from(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType, query: str, headers: dict[str, str], source: str
) -> None:
    page = await client.get(f"{PAGE}{query}", headers=headers)
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page.text))
    carried = {name: hidden[name] for name in ("utm_source", "embed", "embed_origin", "came_from") if name in hidden}
    for step in ({"view": "zones"}, {"tz": "Africa/Lagos"}, {"start": TEN}):
        page = await client.get(PAGE, params={**carried, **step}, headers=own(client, PAGE))
        assert page.status_code == 200
    action = html.unescape(re.findall(r'<form class="form" method="post" action="([^"]+)"', page.text)[0])
    shown = read_page(page).fields["source"].value
    answer = await client.post(action, data=filled(source=shown), headers=own(client, PAGE))

    assert answer.status_code == 303
    assert await source_of(runtime) == shown == source
    assert "came_from" not in answer.headers["location"]


async def test_a_hosts_page_tells_the_next_one_and_a_visit_counts_once(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    client.headers.update(BROWSER)
    for query, headers, source in (("", SEARCH, "search.example"), ("?utm_source=letter", {}, "letter")):
        first = await client.get(f"/mara{query}", headers=headers)
        (link,) = re.findall(rf'href="({PAGE}[^"]*)"', first.text)
        second = await client.get(html.unescape(link), headers=own(client, "/mara"))
        assert read_page(second).fields["source"].value == source
    for _ in range(500):
        rows = await runtime.pool.fetch("select event_type_id is null as is_host, source, views from page_views")
        if sum(row["views"] for row in rows) == 4:
            break
        await asyncio.sleep(0.02)

    assert {tuple(row.values()) for row in rows} == {
        (True, "search.example", 1),
        (True, "letter", 1),
        (False, "internal", 2),
    }


@pytest.mark.parametrize("sent", [*HOSTILE.values(), "a\x00b\x1b"], ids=[*HOSTILE, "control characters"])
async def test_a_form_with_a_hostile_source_is_counted_with_others(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType, sent: str
) -> None:
    answer = await client.post(PAGE, data=filled(source=sent[:50_000]))

    assert answer.status_code == 303
    assert await source_of(runtime) == "other"


async def test_a_form_that_is_shown_again_keeps_the_source(client: httpx2.AsyncClient, intro: EventType) -> None:
    answer = await client.post(PAGE, data=filled(name="", source="search.example"))
    hostile = await client.post(PAGE, data=filled(name="", source=HOSTILE["HTML"]))

    assert answer.status_code == 400
    assert read_page(answer).fields["source"].value == "search.example"
    assert read_page(hostile).fields["source"].value == "other"


def wanted(intro: EventType, **more: Any) -> dict[str, Any]:
    invitee = {"inviteeName": "Jonas Okafor", "inviteeEmail": "jonas@okafor.example", "inviteeTimezone": "Africa/Lagos"}
    return {"eventTypeId": str(intro.id), "startTime": TEN, **invitee, **more}


async def test_the_api_takes_a_source_and_shows_it_to_nobody_but_the_host(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType
) -> None:
    made = await client.post("/api/bookings", json=wanted(intro, source=" Harbor-Letter "))
    path = re.sub(r"^https?://[^/]+", "", made.json()["manageUrl"])
    shown = [made, await client.get(path), await client.get(f"/api/public{path}")]

    assert [answer.status_code for answer in shown] == [200, 200, 200]
    assert await source_of(runtime) == "harbor-letter"
    assert not [answer for answer in shown if "harbor-letter" in answer.text.lower()]
    facts = await runtime.pool.fetchval("select string_agg(row_to_json(e)::text, '') from events e")
    assert "Jonas Okafor" in facts
    assert "harbor-letter" not in facts.lower()


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (None, None),
        (HOSTILE["HTML"], "other"),
        (HOSTILE["a person"], "other"),
        (HOSTILE["Unicode"], "other"),
        ("", "refused"),
        ("a" * 201, "refused"),
        ("a\x00b", "refused"),
        ("a\nb", "refused"),
        (7, "refused"),
    ],
)
async def test_the_api_refuses_what_is_no_line_and_never_keeps_a_person(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType, sent: object, kept: str | None
) -> None:
    answer = await client.post("/api/bookings", json=wanted(intro, source=sent))

    if kept == "refused":
        assert answer.status_code == 400
        assert "source" in answer.json()["details"]
        assert await runtime.pool.fetchval("select count(*) from bookings") == 0
    else:
        assert answer.status_code == 200
        assert await source_of(runtime) == kept
