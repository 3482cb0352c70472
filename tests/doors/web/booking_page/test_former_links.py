"""Links with a former username lead to the current one: pages by a redirect, the public API by its answer."""

from contextlib import nullcontext

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User, UserSettings
from openslot.domains.accounts.profiles.operations import set_username_leads
from openslot.domains.event_types.models import EventType
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.web.booking_page.conftest import PAGE, TEN
from tests.support.live import connect, serving
from tests.support.statements import CountingPool

NEW = PAGE.replace("/mara", "/mara-l", 1)


@pytest.fixture
async def renamed(runtime: Runtime, host: User, intro: EventType) -> User:
    """The host, under a new name."""
    async with runtime.transaction(OPERATOR) as work:
        return await accounts.change_user_settings(work, host, UserSettings(username="mara-l"))


REDIRECTS = [
    ("/mara", "/mara-l"),
    ("/MARA", "/mara-l"),
    ("/mara?embed=1&utm_source=a%20b&utm_source=c", "/mara-l?embed=1&utm_source=a%20b&utm_source=c"),
    (f"{PAGE}?month=2026-04&tz=Asia/Tokyo", f"{NEW}?month=2026-04&tz=Asia/Tokyo"),
    (f"{PAGE}?x=%0d%0aset-cookie:a&y=%C3%BC", f"{NEW}?x=%0d%0aset-cookie:a&y=%C3%BC"),
    ("/mara/no-such-page", "/mara-l/no-such-page"),
    ("/mara/%C3%BC%20b", "/mara-l/%C3%BC%20b"),
    (f"{PAGE}/qr", f"{NEW}/qr"),
    (f"{PAGE}/qr.svg", f"{NEW}/qr.svg"),
    ("/mara.md", "/mara-l.md"),
    ("/mara.json?a=b", "/mara-l.json?a=b"),
    (f"{PAGE}.md", f"{NEW}.md"),
    (f"{PAGE}.json", f"{NEW}.json"),
]


@pytest.mark.parametrize(("path", "location"), REDIRECTS)
async def test_a_page_redirects_with_its_path_and_query(
    client: httpx2.AsyncClient, renamed: User, path: str, location: str
) -> None:
    answer = await client.get(path)

    assert (answer.status_code, answer.headers["location"]) == (307, location)
    assert "no-store" in answer.headers["cache-control"]
    assert answer.headers.get("access-control-allow-origin") == ("*" if ".md" in path or ".json" in path else None)


async def test_assistants_are_redirected_by_their_accept_header_too(client: httpx2.AsyncClient, renamed: User) -> None:
    answer = await client.get(PAGE, headers={"accept": "text/markdown"})

    assert (answer.status_code, answer.headers["location"]) == (307, NEW)
    assert "# " in (await client.get(NEW, headers={"accept": "text/markdown"})).text


async def test_a_form_that_was_open_during_the_rename_books(
    client: httpx2.AsyncClient, runtime: Runtime, renamed: User, intro: EventType
) -> None:
    form = {"start": TEN, "tz": "UTC", "name": "Jonas", "email": "jonas@okafor.example"}
    answer = await client.post(PAGE, data=form)
    assert (answer.status_code, answer.headers["location"]) == (307, NEW)
    answer = await client.post(answer.headers["location"], data=form)

    assert answer.status_code == 303, answer.text
    assert await runtime.pool.fetchval("select count(*) from bookings") == 1


async def test_the_public_api_answers_as_for_the_new_name(client: httpx2.AsyncClient, renamed: User) -> None:
    for rest in ("", "/intro-call", "/intro-call/slots?timezone=UTC"):
        old, new = await client.get(f"/api/public/mara{rest}"), await client.get(f"/api/public/mara-l{rest}")

        assert (old.status_code, old.json()) == (200, new.json()), rest
    assert (await client.get("/api/public/mara")).json()["host"]["username"] == "mara-l"
    assert (await client.get("/api/public/mara/no-such-page")).status_code == 404


PATHS = ("/mara", PAGE, f"{PAGE}/qr", "/mara.md", f"{PAGE}.json", "/api/public/mara", "/api/public/mara/intro-call")


async def test_a_link_that_its_owner_has_switched_off_is_not_found(
    client: httpx2.AsyncClient, runtime: Runtime, renamed: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await set_username_leads(work, renamed, "mara", leads=False)

    assert [(await client.get(path)).status_code for path in PATHS] == [404] * len(PATHS)
    assert (await client.get(NEW)).status_code == 200


async def test_a_name_that_was_taken_back_shows_its_own_page_again(
    client: httpx2.AsyncClient, runtime: Runtime, renamed: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.change_user_settings(work, renamed, UserSettings(username="mara"))

    assert [(await client.get(path)).status_code for path in PATHS] == [200] * len(PATHS)
    assert (await client.get(NEW)).headers["location"] == PAGE


@pytest.mark.parametrize(
    ("path", "status", "looked"),
    [
        ("/mara-l", 200, 0),
        (NEW, 200, 0),
        ("/api/public/mara-l", 200, 0),
        ("/mara", 307, 1),
        (PAGE, 307, 1),
        ("/nobody", 404, 1),
        ("/wp-login.php", 404, 0),
        ("/api/public/nobody", 404, 1),
    ],
)
async def test_former_names_are_looked_up_only_if_nothing_was_found(
    settings: Settings, runtime: Runtime, renamed: User, path: str, status: int, looked: int
) -> None:
    runtime.pool = pool = CountingPool(runtime.pool)
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url) as client:
        pool.asked.clear()
        answer = await client.get(path)

    assert answer.status_code == status
    assert len([asked for asked in pool.asked if "former_usernames" in asked]) == looked, pool.asked
