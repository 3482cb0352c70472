"""A database without space: /readyz stays 200 and names it, and so do metrics and the doctor, while it lasts."""

from collections.abc import Iterator
from pathlib import Path

import asyncpg
import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.access import operations as access
from openslot.domains.accounts.models import User
from openslot.domains.doctor import machine
from openslot.domains.doctor.finding import FindingState
from openslot.domains.doctor.machine import look_at_space
from openslot.doors.http.errors import translate
from openslot.platform.core import outages
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.outages import FULL, REFUSED, read_disk
from openslot.platform.core.work import Runtime

NO_SPACE = asyncpg.DiskFullError("could not extend file: No space left on device")


@pytest.fixture(autouse=True)
def remembered() -> Iterator[None]:
    """Forget what a test has made the process remember."""
    yield
    REFUSED.forget()


@pytest.fixture
def embedded(settings: Settings, tmp_path: Path) -> Settings:
    """Settings of an installation with its database in the data directory."""
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("17")
    return replace(settings, data_dir=tmp_path, database_url="postgresql://postgres@/openslot?host=/tmp/x&port=1")


async def test_a_refused_write_is_named_until_a_write_succeeds(
    client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, user, name="test")
    bearer = {"authorization": f"Bearer {key}"}
    before = await client.get("/readyz")
    translate(NO_SPACE)
    during, measured = await client.get("/readyz"), await client.get("/metrics")
    await client.get("/api/v1/me", headers=bearer)
    after_read = await client.get("/readyz")
    made = await client.post("/api/v1/contacts", headers=bearer, json={"name": "Gus", "email": "gus@guest.example"})
    after, again = await client.get("/readyz"), await client.get("/metrics")

    assert before.json()["disk"] == "ok"
    assert during.json() == {**before.json(), "disk": "full: the database can't write"}
    assert {answer.status_code for answer in (during, after_read)} == {before.status_code}
    assert after_read.json()["disk"] == "full: the database can't write"
    assert (made.status_code, after.json()["disk"]) == (201, "ok")
    assert "openslot_disk_full 1.0" in measured.text
    assert "openslot_disk_full 0.0" in again.text


def test_other_faults_of_the_database_say_nothing_about_its_disk(settings: Settings) -> None:
    for fault in (asyncpg.DeadlockDetectedError("x"), asyncpg.OutOfMemoryError("x"), TimeoutError(), OSError()):
        translate(fault)

    assert read_disk(settings).words == "ok"


@pytest.mark.parametrize(
    ("free", "words", "state"),
    [
        (0, "full: 0 MB left", FindingState.PROBLEM),
        (FULL - 1, "full: 31 MB left", FindingState.PROBLEM),
        (FULL, "ok", FindingState.PROBLEM),
        (10**12, "ok", FindingState.OK),
    ],
)
def test_the_disk_of_the_embedded_database_is_read(
    embedded: Settings, monkeypatch: pytest.MonkeyPatch, free: int, words: str, state: FindingState
) -> None:
    monkeypatch.setattr(outages, "read_free", lambda _: free)
    monkeypatch.setattr(machine, "read_free", lambda _: free)
    found = look_at_space(embedded.data_dir)

    assert (read_disk(embedded).words, read_disk(embedded).free) == (words, free)
    assert (found.state, "The disk is full" in found.meaning) == (state, free < FULL)


def test_space_that_is_free_again_ends_what_was_refused(embedded: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    translate(NO_SPACE)
    monkeypatch.setattr(outages, "read_free", lambda _: 5)
    assert read_disk(embedded).is_full
    monkeypatch.setattr(outages, "read_free", lambda _: FULL)

    assert not read_disk(embedded).is_full
    assert not REFUSED.is_full


def test_the_disk_of_another_server_is_not_this_machines(embedded: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "read_free", lambda _: 5)
    elsewhere = replace(embedded, database_url="postgresql://ann@db.example/openslot")

    assert (read_disk(elsewhere).words, read_disk(elsewhere).free) == ("ok", None)
    translate(NO_SPACE)
    assert read_disk(elsewhere).words == "full: the database can't write"
