"""The checks of an independent SCIM client against the running service: all of them pass, and none is skipped."""

import asyncio

import httpx2
import pytest

from tests.support.provisioning import BASE


@pytest.mark.rest("runs other people's programs against ours")
async def test_every_check_of_scim2_tester_succeeds(client: httpx2.AsyncClient, token: str) -> None:
    # Importing them takes seconds: only the process that runs this test should.
    from scim2_client.engines.httpx2 import SyncSCIMClient
    from scim2_tester import Status, check_server

    def check() -> list[tuple[str, str | None, str | None]]:
        headers = {"Authorization": f"Bearer {token}"}
        with httpx2.Client(base_url=f"{client.base_url}{BASE}", headers=headers, timeout=60, verify=False) as http:
            results = check_server(SyncSCIMClient(http))
        assert len(results) > 40
        return [(each.status.name, each.title, each.reason) for each in results if each.status is not Status.SUCCESS]

    found = await asyncio.to_thread(check)
    assert found == [], "\n".join(map(str, found))
