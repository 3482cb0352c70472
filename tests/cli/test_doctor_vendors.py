"""The doctor's check of the clients at Google and Microsoft, and the settings that are refused before it."""

import asyncio
from pathlib import Path

import pytest

from openslot.domains.doctor.finding import Finding, FindingState
from openslot.domains.doctor.machine import look_at_client
from openslot.domains.oauth.models import OAuthVendor
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.work import system_clock
from tests.support import fake_microsoft
from tests.support.fake_google import CLIENT_ID, CLIENT_SECRET, serving

MICROSOFT = {
    "microsoft_client_id": fake_microsoft.CLIENT_ID,
    "microsoft_client_secret": fake_microsoft.CLIENT_SECRET,
}
GIVEN = {"google_client_id": CLIENT_ID, "google_client_secret": CLIENT_SECRET}


def chosen(tmp_path: Path, **settings: object) -> Settings:
    return load_settings({"data_dir": tmp_path, **settings}, environ={}, dotenv=tmp_path / "none")


async def look(tmp_path: Path, **settings: object) -> Finding:
    async with serving(system_clock) as google:
        places = {"google_token_url": f"{google.url}/token", "outbound_allow": "127.0.0.0/8"}
        return await asyncio.to_thread(look_at_client, chosen(tmp_path, **places, **settings), OAuthVendor.GOOGLE)


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

    assert look_at_client(chosen(tmp_path, **places, **GIVEN), OAuthVendor.GOOGLE).state is FindingState.PROBLEM


@pytest.mark.parametrize("vendor", list(OAuthVendor))
def test_without_a_client_all_is_in_order(tmp_path: Path, vendor: OAuthVendor) -> None:
    assert look_at_client(chosen(tmp_path), vendor).state is FindingState.OK


@pytest.mark.parametrize("secret", [MICROSOFT["microsoft_client_secret"], "another"])
async def test_a_client_at_microsoft_is_tried_as_well(tmp_path: Path, secret: str) -> None:
    async with fake_microsoft.serving(system_clock) as microsoft:
        places = {"microsoft_login_url": microsoft.url, "outbound_allow": "127.0.0.0/8"}
        settings = chosen(tmp_path, **{**MICROSOFT, **places, "microsoft_client_secret": secret})
        finding = await asyncio.to_thread(look_at_client, settings, OAuthVendor.MICROSOFT)

    if secret == "another":
        assert (finding.state, "invalid_client (AADSTS7000215)" in finding.meaning) == (FindingState.PROBLEM, True)
        assert "docs/microsoft-365.md" in (finding.fix or "")
    else:
        assert finding.state is FindingState.OK
        assert finding.meaning.endswith("must be http://127.0.0.1:8000/connect/microsoft/callback")


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"google_client_id": "x"}, "OPENSLOT_GOOGLE_CLIENT_SECRET is missing"),
        ({"google_client_secret": "x"}, "OPENSLOT_GOOGLE_CLIENT_ID is missing"),
        ({"google_api_url": "ftp://x"}, "OPENSLOT_GOOGLE_API_URL is wrong"),
        ({"microsoft_client_id": "x"}, "OPENSLOT_MICROSOFT_CLIENT_SECRET is missing"),
        ({"microsoft_client_secret": "x"}, "OPENSLOT_MICROSOFT_CLIENT_ID is missing"),
        ({"microsoft_graph_url": "ftp://x"}, "OPENSLOT_MICROSOFT_GRAPH_URL is wrong"),
        ({"microsoft_tenant": "../other"}, "OPENSLOT_MICROSOFT_TENANT is wrong"),
    ],
)
def test_half_a_client_and_wrong_addresses_are_refused(tmp_path: Path, settings: dict[str, str], fault: str) -> None:
    with pytest.raises(StartupError, match=fault):
        chosen(tmp_path, **settings)
