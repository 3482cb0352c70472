"""Profile and notifications: no form of another site, no stored markup, few statements, and a small booking page."""

from contextlib import nullcontext

import httpx2
import pytest

from openslot.accounts.models import User
from openslot.app import create_app
from openslot.core.config import Settings
from openslot.core.work import Runtime
from openslot.routing import collect, find_declaration
from tests.support.forms import from_other_sites
from tests.support.host import open_session
from tests.support.hostile_text import CORPUS, check_pages
from tests.support.live import connect, serving
from tests.support.statements import CountingPool, count_statements
from tests.web.profile.conftest import HERE, draw

# The session is one of them.
BRANDING = "/settings/branding"
COSTS = {
    HERE: 2,
    f"{HERE}/photo/remove": 1,
    BRANDING: 3,
    f"{BRANDING}/logo/remove": 2,
    "/mara": 2,
    "/mara/30min": 2,
}


def paths(method: str) -> list[str]:
    modules = ("openslot.web.dashboard.profile", "openslot.web.dashboard.branding")
    declared = [find_declaration(handler) for module in modules for handler in collect(module)]
    return [each.path for each in declared if each is not None and each.method == method]


async def test_a_form_of_another_site_is_refused_and_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime
) -> None:
    before = await runtime.pool.fetch("select * from users")
    for path, headers in from_other_sites(paths("POST")):
        sent = {"name": "Eve", "username": "eve", "which": "own", "color": "#000000"}
        assert (await member.post(path, data=sent, headers=headers)).status_code == 403, path
    assert await runtime.pool.fetch("select * from users") == before
    assert await runtime.pool.fetchval("select count(*) from brands") == 0


async def test_without_a_session_every_page_asks_to_sign_in(client: httpx2.AsyncClient) -> None:
    for path in paths("GET"):
        assert (await client.get(path)).headers["location"].startswith("/login")


@pytest.mark.parametrize("text", CORPUS)
async def test_stored_text_stays_text(member: httpx2.AsyncClient, runtime: Runtime, user: User, text: str) -> None:
    sent = {"name": text, "welcome": text, "timezone": text, "locale": text, "username": text}
    sent |= {"which": "own", "color": text, "picker": text, "brand-name": text, "logo-url": text}
    forms = (HERE, f"{HERE}/link", f"{BRANDING}/look", f"{BRANDING}/page")
    pages = [await member.post(path, data=sent) for path in forms]
    for path, field in ((HERE, "photo"), (BRANDING, "logo"), (BRANDING, "cover")):
        pages.append(await member.post(f"{path}/{field}", files={field: (text, text.encode(), "image/png")}))
    await runtime.pool.execute(
        "update users set name = $2, welcome = $2 where id = $1",
        user.id,
        text,
    )
    pages += [await member.get(path) for path in (HERE, BRANDING, "/mara")]
    assert check_pages(pages) >= 4


@pytest.mark.parametrize("path", COSTS)
async def test_a_page_needs_few_statements(
    settings: Settings, runtime: Runtime, user: User, member: httpx2.AsyncClient, path: str
) -> None:
    await member.post(f"{HERE}/photo", files={"photo": ("me.jpg", draw(), "image/jpeg")})
    await member.post(f"{BRANDING}/logo", files={"logo": ("logo.jpg", draw(), "image/jpeg")})
    session = await open_session(runtime, user)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session if path.startswith("/settings") else {}) as client:
        answer = await count_statements(client, pool, path)

    assert answer == (200, COSTS[path]), pool.asked
