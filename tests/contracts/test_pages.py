"""Every list of the API with an address of its own: past the last page it is empty, and its total is still true."""

import httpx2

from openslot.demo.seed import seed
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.runtime import open_runtime

LISTS = {"bookings", "calls", "contacts", "conversations", "event-types"}


async def test_every_list_tells_its_total_past_the_last_page(settings: Settings, client: httpx2.AsyncClient) -> None:
    async with open_runtime(settings) as runtime, runtime.transaction(OPERATOR) as work:
        seeded = await seed(work)
    client.headers["Authorization"] = f"Bearer {seeded.api_key}"
    described = (await client.get("/api/openapi.json")).json()["paths"]
    paths = [
        path
        for path, operations in described.items()
        if any(each["name"] == "page" for each in operations.get("get", {}).get("parameters", ())) and "{" not in path
    ]
    assert {path.rpartition("/")[2] for path in paths} >= LISTS
    for path in paths:
        first = (await client.get(path)).json()["pagination"]
        last = (await client.get(path, params={"page": 1_000_000})).json()
        assert first["total"] > 0, path
        assert last == {"data": [], "pagination": {**first, "page": 1_000_000}}, path
