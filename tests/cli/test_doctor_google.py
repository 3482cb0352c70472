"""The doctor's check of the client at Google, and the settings that are refused before it."""

import asyncio
from pathlib import Path

import pytest

from openslot.core.config import Settings
from openslot.core.environment import load_settings
from openslot.core.errors import StartupError
from openslot.core.work import system_clock
from openslot.doctor.finding import Finding, FindingState
from openslot.doctor.machine import look_at_google
from tests.support.fake_google import CLIENT_ID, CLIENT_SECRET, serving

GIVEN = {"google_client_id": CLIENT_ID, "google_client_secret": CLIENT_SECRET}


def chosen(tmp_path: Path, **settings: object) -> Settings:
    return load_settings({"data_dir": tmp_path, **settings}, environ={}, dotenv=tmp_path / "none")


async def look(tmp_path: Path, **settings: object) -> Finding:
    async with serving(system_clock) as google:
        places = {"google_token_url": f"{google.url}/token", "outbound_allow": "127.0.0.0/8"}
        return await asyncio.to_thread(look_at_google, chosen(tmp_path, **places, **settings))


async def test_a_client_that_google_knows_is_in_order_and_the_redirect_uri_is_told(tmp_path: Path) -> None:
    finding = await look(tmp_path, **GIVEN)

    assert finding.state is FindingState.OK
    assert finding.meaning.endswith("must be http://127.0.0.1:8000/connect/google/callback")


async def test_a_wrong_secret_is_a_problem(tmp_path: Path) -> None:
    finding = await look(tmp_path, **{**GIVEN, "google_client_secret": "another"})

    assert finding.state is FindingState.PROBLEM
    assert "invalid_client" in finding.meaning
    assert "another" not in finding.meaning


def test_a_google_that_can_not_be_reached_is_a_problem(tmp_path: Path) -> None:
    places = {"google_token_url": "http://127.0.0.1:9/token"}

    assert look_at_google(chosen(tmp_path, **places, **GIVEN)).state is FindingState.PROBLEM


def test_without_a_client_all_is_in_order(tmp_path: Path) -> None:
    assert look_at_google(chosen(tmp_path)).state is FindingState.OK


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"google_client_id": "x"}, "OPENSLOT_GOOGLE_CLIENT_SECRET is missing"),
        ({"google_client_secret": "x"}, "OPENSLOT_GOOGLE_CLIENT_ID is missing"),
        ({"google_api_url": "ftp://x"}, "OPENSLOT_GOOGLE_API_URL is wrong"),
    ],
)
def test_half_a_client_and_wrong_addresses_are_refused(tmp_path: Path, settings: dict[str, str], fault: str) -> None:
    with pytest.raises(StartupError, match=fault):
        chosen(tmp_path, **settings)
