"""GET /api/v1/me: the first endpoint, from key to answer."""

import httpx2

from openslot.domains.accounts.models import User


async def test_a_key_tells_whose_it_is(client: httpx2.AsyncClient, user: User, bearer: dict[str, str]) -> None:
    answer = await client.get("/api/v1/me", headers=bearer)

    assert answer.status_code == 200
    assert answer.json() | {"createdAt": None, "updatedAt": None} == {
        "id": str(user.id),
        "email": "mara@lindqvist.example",
        "name": "Mara Lindqvist",
        "username": "mara",
        "plan": "PRO",
        "effectivePlan": "PRO",
        "timezone": "UTC",
        "createdAt": None,
        "updatedAt": None,
    }
