"""Pages of the profile and the brand need few statements."""

from contextlib import nullcontext

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.accounts.models import User
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.web.profile.conftest import HERE, draw
from tests.support.host import open_session
from tests.support.live import connect, serving
from tests.support.statements import CountingPool, count_statements

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
