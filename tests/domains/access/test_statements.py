"""What the common path costs: one statement, and none at all for a key that can't be one."""

from contextlib import nullcontext

import pytest

from openslot.app import create_app
from openslot.domains.access.models import CredentialKind, new_key
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.support.live import connect, serving
from tests.support.statements import CountingPool


@pytest.fixture
def counting(runtime: Runtime) -> CountingPool:
    """Count what the runtime asks its database."""
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    return pool


async def statements(
    settings: Settings, runtime: Runtime, pool: CountingPool, authorization: str, *, again: bool = False
) -> tuple[int, list[str]]:
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url) as client:
        for _ in range(2 if again else 1):
            pool.asked.clear()
            answer = await client.get("/api/v1/me", headers={"Authorization": authorization})
    return answer.status_code, pool.asked


async def test_me_is_one_statement(settings: Settings, runtime: Runtime, counting: CountingPool, api_key: str) -> None:
    status, asked = await statements(settings, runtime, counting, f"Bearer {api_key}", again=True)

    assert (status, len(asked)) == (200, 1)


@pytest.mark.parametrize("mistake", ["", "x", "0"])
async def test_a_mistyped_key_is_charged_without_being_looked_up(
    settings: Settings, runtime: Runtime, counting: CountingPool, api_key: str, mistake: str
) -> None:
    wrong = api_key[: -len(mistake)] + mistake if mistake and not api_key.endswith(mistake) else api_key[:-1]
    status, asked = await statements(settings, runtime, counting, f"Bearer {wrong}")

    assert (status, len(asked)) == (401, 1)
    assert "api_keys" not in asked[0]


async def test_an_unknown_key_is_looked_up_and_then_charged(
    settings: Settings, runtime: Runtime, counting: CountingPool
) -> None:
    status, asked = await statements(settings, runtime, counting, f"Bearer {new_key(CredentialKind.API_KEY)}")

    assert (status, len(asked)) == (401, 2)
