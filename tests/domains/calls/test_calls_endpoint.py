"""GET /api/v1/calls, over HTTP."""

from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.domains.calls.models import CallDirection, CallStatus, Ending
from openslot.domains.calls.operations import record_call
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.openapi import DESCRIPTION

PATH = "/api/v1/calls"
NOON = datetime(2026, 3, 16, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
ENDED = [CallStatus.COMPLETED, CallStatus.FAILED, CallStatus.NO_ANSWER]


@pytest.fixture
async def calls(runtime: Runtime, user: User) -> None:
    """Record a call of each ending on three days, and one that still runs."""
    async with runtime.transaction(OPERATOR) as work:
        for number, status in enumerate([*ENDED, None]):
            started_at = NOON + number * DAY
            await record_call(
                work,
                owner_id=user.id,
                direction=CallDirection.INBOUND,
                phone="+493012345678",
                agent_name="Reception",
                started_at=started_at,
                ending=Ending(status=status, ended_at=started_at + timedelta(seconds=245)) if status else None,
            )


async def list_statuses(client: httpx2.AsyncClient, bearer: dict[str, str], query: str) -> list[str]:
    answer = await client.get(f"{PATH}?{query}", headers=bearer)
    assert answer.status_code == 200, answer.text
    return [each["status"] for each in answer.json()["data"]]


@pytest.mark.usefixtures("calls")
async def test_a_call_is_shown_whole(client: httpx2.AsyncClient, bearer: dict[str, str]) -> None:
    body = (await client.get(PATH, params={"status": "COMPLETED"}, headers=bearer)).json()

    assert body["pagination"] == {"page": 1, "limit": 20, "total": 1, "totalPages": 1}
    (call,) = body["data"]
    assert call.pop("createdAt").endswith("Z")
    assert call.pop("updatedAt").endswith("Z")
    assert len(call.pop("id")) == 36
    assert call == {
        "direction": "inbound",
        "callerPhone": "+493012345678",
        "durationSeconds": 245,
        "status": "completed",
        "agentName": "Reception",
        "startedAt": "2026-03-16T12:00:00Z",
    }


@pytest.mark.usefixtures("calls")
async def test_calls_that_are_over_are_filtered_by_status_and_start(
    client: httpx2.AsyncClient, bearer: dict[str, str]
) -> None:
    for query, expected in {
        "": ["no_answer", "failed", "completed"],
        "status=all": ["no_answer", "failed", "completed"],
        "status=ALL": ["no_answer", "failed", "completed"],
        "status=No_Answer": ["no_answer"],
        "status=failed": ["failed"],
        "from=2026-03-17": ["no_answer", "failed"],
        "to=2026-03-17": ["failed", "completed"],
        "from=2026-03-17T12:00:00Z&to=2026-03-17T14:00:00+02:00": ["failed"],
        "from=2026-03-17T12:00:01Z": ["no_answer"],
        "status=COMPLETED&from=2026-03-17": [],
    }.items():
        assert await list_statuses(client, bearer, query) == expected, query


@pytest.mark.usefixtures("calls")
async def test_pages_tell_the_exact_total_and_end_in_an_empty_one(
    client: httpx2.AsyncClient, bearer: dict[str, str]
) -> None:
    shown = []
    for page in (1, 2, 3):
        body = (await client.get(PATH, params={"page": page, "limit": 2}, headers=bearer)).json()
        assert body["pagination"] == {"page": page, "limit": 2, "total": 3, "totalPages": 2}
        shown.append([each["status"] for each in body["data"]])
    assert shown == [["no_answer", "failed"], ["completed"], []]


async def test_every_wrong_parameter_is_named_at_once(client: httpx2.AsyncClient, bearer: dict[str, str]) -> None:
    for query, wrong in {
        "status=MISSED&from=x&to=2026-02-30&limit=51&page=0": {"status", "from", "to", "limit", "page"},
        "status=": {"status"},
        "status=completed,failed": {"status"},
        "status=%00&from=2026-03-16T12:00&limit=-1": {"status", "limit"},
        "from=2026-03-17&to=2026-03-16": {"to"},
        "status=all'--&page=one": {"status", "page"},
    }.items():
        answer = await client.get(f"{PATH}?{query}", headers=bearer)
        assert answer.status_code == 400, query
        assert set(answer.json()["details"]) == wrong, query


@pytest.mark.usefixtures("calls")
async def test_nobody_sees_anothers_calls(client: httpx2.AsyncClient, runtime: Runtime, admin: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, admin, name="another's")

    body = (await client.get(PATH, headers={"Authorization": f"Bearer {key}"})).json()

    assert body == {"data": [], "pagination": {"page": 1, "limit": 20, "total": 0, "totalPages": 0}}
    assert (await client.get(PATH)).status_code == 401


def test_the_description_names_every_parameter_and_shows_an_example_of_every_field() -> None:
    description = DESCRIPTION
    operation = description["paths"]["/api/v1/calls"]["get"]

    assert operation["operationId"] == "listCalls"
    assert {each["name"] for each in operation["parameters"]} == {"status", "from", "to", "page", "limit"}
    assert all(each["description"] for each in operation["parameters"])
    fields = description["components"]["schemas"]["ShownCall"]["properties"]
    assert all("examples" in field for field in fields.values())
