"""What is issued to assistants is nowhere in the clear: not in the logs, and not in any row of the database."""

from pathlib import Path
from urllib.parse import quote

import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Clock, Runtime
from tests.doors.assistants.support import VERIFIER, call, get_code, read_tokens, redeem, refresh, register
from tests.support.clocks import real_clock
from tests.support.host import open_session
from tests.support.live import connect

__all__ = ["real_clock"]


@pytest.fixture
def clock(real_clock: Clock) -> Clock:
    """The installation looks at the real one."""
    return real_clock


@pytest.fixture(autouse=True)
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENSLOT_LOG_LEVEL", "debug")


async def dump(runtime: Runtime) -> str:
    """Write every row of every table as text, as a backup has it."""
    tables = await runtime.pool.fetch("select tablename from pg_tables where schemaname = 'public' order by 1")
    rows = [
        row["text"]
        for table in tables
        for row in await runtime.pool.fetch(f'select t::text as text from "{table["tablename"]}" t')
    ]
    return "\n".join(rows)


async def test_nothing_that_was_issued_is_in_the_logs_or_in_a_dump(
    installation: str, runtime: Runtime, user: User, tmp_path: Path
) -> None:
    resource = f"{installation}/mcp"
    async with connect(installation, timeout=60) as browser:
        client_id = await register(browser)
        browser.headers.update(await open_session(runtime, user))
        code = await get_code(browser, client_id, resource=resource)
        first = read_tokens(await redeem(browser, client_id, code, resource=resource))
        second = read_tokens(await refresh(browser, client_id, first.refresh_token))
        unused = await get_code(browser, client_id, resource=resource)
        assert (await call(browser, second.access_token)).status_code == 200
        # Wrong requests are where secrets are logged by mistake.
        in_query = await browser.post(f"/mcp?access_token={second.access_token}", content=second.access_token)
        malformed = await browser.post("/oauth/token", content=second.refresh_token)
        await browser.post(f"/oauth/token/{quote(unused)}", data={"code": unused})
        found = await dump(runtime)
        reused = await refresh(browser, client_id, first.refresh_token)
        found += await dump(runtime)
    logs = (tmp_path / "installation.err").read_text("utf-8")

    assert (in_query.status_code, malformed.status_code, reused.status_code) == (401, 415, 400)
    assert client_id in found
    assert "/oauth/token" in logs
    for secret in (code, unused, first.access_token, first.refresh_token, second.access_token, second.refresh_token):
        for written in (secret, quote(secret, safe=""), secret.encode().hex()):
            assert written not in logs
            assert written not in found
    assert VERIFIER not in logs + found
