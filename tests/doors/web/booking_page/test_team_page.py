"""A team's pages: what it offers, when, and a booking that its hosts get."""

import asyncio
import html
import re

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.booking_page.conftest import STARTS, TEN, book, filled
from tests.support.founding import FoundedTeam, add_event_type, found_team, pick_of
from tests.support.private_tokens import get_private_token

PAGE = "/team/sales/demo"


@pytest.fixture
async def founded(runtime: Runtime) -> FoundedTeam:
    return await found_team(runtime)


@pytest.fixture
async def offered(runtime: Runtime, founded: FoundedTeam) -> EventType:
    return await add_event_type(runtime, founded)


async def test_a_team_shows_what_it_offers(
    client: httpx2.AsyncClient, runtime: Runtime, founded: FoundedTeam, offered: EventType
) -> None:
    shown = await client.get("/team/sales")
    nothing = await client.get("/team/nobody")
    owner = await client.get(f"/{founded.hosts[0].username}")

    assert shown.status_code == 200
    assert f'href="{PAGE}"' in shown.text
    assert "Sales" in shown.text
    assert nothing.status_code == 404
    # What a team offers is on the team's page alone.
    assert offered.name not in owner.text
    assert (await client.get(f"/{founded.hosts[0].username}/{offered.slug}")).status_code == 404


async def test_a_private_event_type_is_left_off_and_needs_its_token(
    client: httpx2.AsyncClient, runtime: Runtime, founded: FoundedTeam, offered: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        token = await get_private_token(work, await event_types.make_event_type_private(work, offered))

    assert PAGE not in (await client.get("/team/sales")).text
    assert (await client.get(PAGE)).status_code == 404
    assert (await client.get(PAGE, params={"token": token})).status_code == 200


async def test_a_teams_page_has_the_other_formats_that_it_names(client: httpx2.AsyncClient, offered: EventType) -> None:
    shown = await client.get("/team/sales")
    named = re.findall(r'<link rel="alternate" type="([^"]+)" href="([^"]+)">', shown.text)
    answers = {kind: await client.get(path) for kind, path in named}
    text, data = answers["text/markdown"], answers["application/json"]

    assert [answer.status_code for answer in answers.values()] == [200, 200]
    assert f"{PAGE}.md" in text.text
    assert "# Sales" in text.text
    assert data.json()["host"] == {"name": "Sales", "username": "team/sales", "timezone": "UTC"}
    assert [each["slug"] for each in data.json()["eventTypes"]] == ["demo"]
    assert data.json()["pageUrl"].endswith("/team/sales")
    assert (await client.get("/team/sales", headers={"accept": "application/json"})).json() == data.json()
    assert (await client.get("/team/nobody.md")).status_code == 404


async def test_times_of_all_hosts_are_shown_under_the_teams_name(
    client: httpx2.AsyncClient, offered: EventType
) -> None:
    shown = await client.get(PAGE, params={"tz": "UTC", "month": "2026-03"})
    as_text = await client.get(f"{PAGE}.md", params={"tz": "UTC"})
    as_json = await client.get(f"{PAGE}.json", params={"tz": "UTC"})

    assert shown.status_code == 200
    assert "2026-03-16T10:00:00Z" in STARTS.findall(shown.text)
    assert "Sales" in shown.text
    assert "Host 0" not in shown.text
    assert as_text.status_code == 200
    assert as_json.json()["host"]["name"] == "Sales"
    assert as_json.json()["pageUrl"].endswith(PAGE)
    assert as_json.json()["nextSlots"]


async def test_without_enough_hosts_there_are_no_times(
    client: httpx2.AsyncClient, runtime: Runtime, founded: FoundedTeam
) -> None:
    await add_event_type(runtime, founded, pick_of(2, founded.hosts), slug="panel")
    async with runtime.transaction(OPERATOR) as work:
        for host in founded.hosts[1:]:
            await work.db.execute("update users set disabled_at = now() where id = $1", host.id)

    shown = await client.get("/team/sales/panel", params={"tz": "UTC", "month": "2026-03"})
    assert shown.status_code == 200
    assert STARTS.findall(shown.text) == []


async def test_a_booking_by_the_page_has_a_host(
    client: httpx2.AsyncClient, runtime: Runtime, founded: FoundedTeam, offered: EventType
) -> None:
    managed = await book(client, PAGE)
    again = await client.get(PAGE, params={"tz": "UTC", "start": TEN})
    own = await client.get(managed)

    hosts = await runtime.pool.fetch("select user_id, role from booking_hosts")
    assert [row["role"] for row in hosts] == ["organizer"]
    assert hosts[0]["user_id"] in {host.id for host in founded.hosts}
    # Two others are free at that time.
    assert again.status_code == 200
    assert own.status_code == 200
    organizer = next(host for host in founded.hosts if host.id == hosts[0]["user_id"])
    assert f"<bdi>{organizer.name}</bdi>" in own.text
    for _ in range(2):
        await book(client, PAGE)
    assert (await client.post(PAGE, data=filled())).status_code == 409
    assert await runtime.pool.fetchval("select count(distinct user_id) from booking_hosts") == 3


async def test_the_invitee_reads_who_hosts_and_not_who_owns(
    client: httpx2.AsyncClient, runtime: Runtime, founded: FoundedTeam
) -> None:
    owner, *hosts = founded.hosts
    await add_event_type(runtime, founded, pick_of(2, hosts), slug="panel", owner=owner)
    managed = await book(client, "/team/sales/panel")
    shown = await client.get(managed)
    cancelled = await client.post(f"{managed}/cancel", data={})
    after = await client.get(cancelled.headers["location"])

    assert f"<bdi>{hosts[0].name}, {hosts[1].name}</bdi>" in shown.text
    assert owner.name not in shown.text
    assert 'href="/team/sales/panel' in after.text


async def test_a_visit_counts_once_for_the_owner_with_the_source_of_the_first_page(
    client: httpx2.AsyncClient, runtime: Runtime, founded: FoundedTeam, offered: EventType
) -> None:
    # Whoever is called like the team gets nothing.
    await runtime.pool.execute("update users set username = 'sales' where id = $1", founded.hosts[2].id)
    client.headers["user-agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"
    first = await client.get("/team/sales", headers={"referer": "https://www.search.example/"})
    (link,) = re.findall(rf'href="({PAGE}[^"]*)"', first.text)
    await client.get(html.unescape(link), headers={"referer": f"{str(client.base_url).rstrip('/')}/team/sales"})
    await client.get(PAGE)
    for _ in range(500):
        rows = await runtime.pool.fetch("select host_id, event_type_id, source, views from page_views order by source")
        if len(rows) == 2:
            break
        await asyncio.sleep(0.02)

    owner = founded.hosts[0].id
    assert [tuple(row.values()) for row in rows] == [
        (owner, offered.id, "direct", 1),
        (owner, offered.id, "search.example", 1),
    ]


async def test_seats_of_a_session_show_what_is_left_until_it_is_full(
    client: httpx2.AsyncClient, runtime: Runtime, offered: EventType
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, replace(offered, seats=3))
    for left in ("2 seats left", "1 seat left"):
        await book(client, PAGE)
        assert f'value="{TEN}">10:00 <small>{left}</small>' in (await client.get(PAGE, params={"tz": "UTC"})).text
    await book(client, PAGE)
    assert f'value="{TEN}"' not in (await client.get(PAGE, params={"tz": "UTC"})).text
