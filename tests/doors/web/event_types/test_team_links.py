"""The links of a team's event type, wherever its owner finds them, lead to its page."""

import html
import re

import httpx2
import pytest

from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.links import operations as links
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.host import open_session
from tests.support.live import connect
from tests.support.teams import HostedTeam, open_team

PAGES = {"list": "/event-types", "form": "/event-types/{id}", "embed": "/event-types/{id}/embed"}


@pytest.fixture
async def team(runtime: Runtime) -> HostedTeam:
    return await open_team(runtime, 2)


@pytest.fixture
async def path(runtime: Runtime, team: HostedTeam) -> str:
    """Where people book the team's event type."""
    slug = await runtime.pool.fetchval("select slug from teams where id = $1", team.id)
    return f"/team/{slug}/{team.event_type.slug}"


@pytest.mark.parametrize("place", PAGES)
async def test_pages_show_a_link_that_opens(
    client: httpx2.AsyncClient, runtime: Runtime, team: HostedTeam, path: str, place: str
) -> None:
    event_type = team.event_type
    async with connect(str(client.base_url), headers=await open_session(runtime, team.owner)) as owner:
        shown = await owner.get(PAGES[place].format(id=event_type.id))

    base = runtime.settings.public_url
    found = set(re.findall(rf"{re.escape(base)}(/[^\s\"'?&<]*{event_type.slug})\b", shown.text))
    assert found == {path}
    assert (await client.get(path)).status_code == 200


async def test_a_private_page_opens_with_its_link(
    client: httpx2.AsyncClient, runtime: Runtime, team: HostedTeam, path: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await event_types.make_event_type_private(
            work, await event_types.get_event_type_for_change(work, team.owner, team.event_type.id)
        )
    async with connect(str(client.base_url), headers=await open_session(runtime, team.owner)) as owner:
        shown = await owner.get(f"/event-types/{team.event_type.id}")

    (link,) = set(re.findall(rf"{path}\?token=[\w-]+", shown.text))
    assert (await client.get(path)).status_code == 404
    assert (await client.get(link)).status_code == 200


async def test_a_link_for_some_bookings_opens(
    client: httpx2.AsyncClient, runtime: Runtime, team: HostedTeam, path: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        _, made = await links.create_booking_link(work, team.owner, team.event_type.id, uses=1)
        event_type, listed, _ = await links.list_booking_links(work, team.owner, team.event_type.id, limit=10)
    (url,) = {links.find_link_url(runtime, team.owner, event_type, each) for each in [made, *listed]}

    assert url == f"{runtime.settings.public_url}{path}?token={made.token}"
    assert (await client.get(f"{path}?token={made.token}")).status_code == 200


async def test_the_code_leads_to_the_page(client: httpx2.AsyncClient, runtime: Runtime, path: str) -> None:
    shown, image = await client.get(f"{path}/qr"), await client.get(f"{path}/qr.svg")

    assert f"{runtime.settings.public_url}{path}" in shown.text
    assert f"{path}/qr.svg" in shown.text
    assert (image.status_code, image.headers["content-type"]) == (200, "image/svg+xml")


async def test_pages_speak_of_the_team_s_page_and_not_of_the_owner_s(
    client: httpx2.AsyncClient, runtime: Runtime, team: HostedTeam
) -> None:
    path = f"/event-types/{team.event_type.id}"
    async with connect(str(client.base_url), headers=await open_session(runtime, team.owner)) as owner:
        shown = [await owner.get(each) for each in (path, f"{path}/private", f"{path}/links")]
        async with runtime.transaction(OPERATOR) as work:
            await event_types.make_event_type_private(
                work, await event_types.get_event_type_for_change(work, team.owner, team.event_type.id)
            )
        shown += [await owner.get(each) for each in (path, f"{path}/public", f"{path}?done=public")]

    for each in shown:
        assert each.status_code == 200
        text = html.unescape(each.text).casefold()
        assert "the team's page" in text, each.url
        assert "your page" not in text, each.url
        assert "my page" not in text, each.url
