"""The API keeps to its own description: schemathesis asks everything."""

import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from openslot.demo.seed import Seeded, seed
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.runtime import open_runtime
from tests.support.parts import LONG
from tests.support.races import web_processes

# Every kind of right and wrong value once, and operations in each other's order; what is drawn by lot takes longer.
PHASES, EXAMPLES = "coverage,stateful", "6"
if LONG:
    PHASES, EXAMPLES = "examples,coverage,fuzzing,stateful", "100"
# Sound by its type is not yet a time zone or a free slot: such a request may well be refused.
LEFT_OUT = "positive_data_acceptance"


@pytest.fixture
async def seeded(settings: Settings) -> Seeded:
    """A database with demo data in it."""
    async with open_runtime(settings) as runtime, runtime.transaction(OPERATOR) as work:
        return await seed(work)


@pytest.mark.rest("runs other people's programs against ours")
async def test_every_operation_answers_as_it_is_described(settings: Settings, seeded: Seeded, tmp_path: Path) -> None:
    with web_processes(settings, count=1) as (url,):
        command = [
            *(str(Path(sys.executable).parent / "schemathesis"), "run", f"{url}/api/openapi.json"),
            *("--header", f"Authorization: Bearer {seeded.api_key}"),
            *("--url", url, "--phases", PHASES, "--checks", "all"),
            *("--exclude-checks", LEFT_OUT, "--max-examples", EXAMPLES, "--seed", "1", "--no-color"),
        ]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert re.search(r"\b[1-9][0-9]* generated", run.stdout), run.stdout[-3000:]


async def test_the_description_has_all_operations(client: httpx2.AsyncClient) -> None:
    paths = (await client.get("/api/openapi.json")).json()["paths"]
    keyed = [
        (method.upper(), path)
        for path, operations in paths.items()
        for method in operations
        if path.startswith("/api/v1/")
    ]

    assert ("POST", "/api/bookings") in [(m.upper(), p) for p, each in paths.items() for m in each]
    assert {
        ("GET", "/api/v1/me"),
        ("GET", "/api/v1/bookings"),
        ("POST", "/api/v1/bookings"),
        ("GET", "/api/v1/bookings/{booking_id}"),
        ("POST", "/api/v1/bookings/{booking_id}/cancel"),
        ("PATCH", "/api/v1/bookings/{booking_id}/reschedule"),
        ("GET", "/api/v1/contacts"),
        ("POST", "/api/v1/contacts"),
        ("GET", "/api/v1/contacts/{contact_id}"),
        ("PATCH", "/api/v1/contacts/{contact_id}"),
        ("DELETE", "/api/v1/contacts/{contact_id}"),
        ("GET", "/api/v1/event-types"),
        ("GET", "/api/v1/event-types/{event_type_id}"),
        ("GET", "/api/v1/availability/{slug}"),
        ("GET", "/api/v1/conversations"),
        ("GET", "/api/v1/calls"),
    } <= set(keyed)
