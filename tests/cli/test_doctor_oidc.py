"""The doctor's check of the identity provider, and the settings that are refused before it."""

import asyncio
from pathlib import Path

import pytest

from openslot.domains.doctor.finding import FindingState
from openslot.domains.doctor.machine import look_at_oidc
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.work import system_clock
from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, providing

GIVEN = {"oidc_client_id": CLIENT_ID, "oidc_client_secret": CLIENT_SECRET}


def chosen(tmp_path: Path, **settings: object) -> Settings:
    return load_settings({"data_dir": tmp_path, **settings}, environ={}, dotenv=tmp_path / "none")


async def look(tmp_path: Path, **metadata: object) -> tuple[FindingState, str]:
    async with providing(system_clock) as running:
        running.metadata = metadata
        given = chosen(tmp_path, oidc_issuer=running.issuer, outbound_allow="127.0.0.0/8", oidc_name="Okta", **GIVEN)
        finding = await asyncio.to_thread(look_at_oidc, given)
        return finding.state, finding.meaning.replace(running.issuer, "ISSUER")


async def test_a_provider_that_answers_is_in_order_and_the_redirect_uri_is_told(tmp_path: Path) -> None:
    state, meaning = await look(tmp_path)

    assert state is FindingState.OK
    assert meaning.endswith("must be http://127.0.0.1:8000/login/oidc/callback")


async def test_a_provider_with_another_name_is_a_problem_that_names_both(tmp_path: Path) -> None:
    state, meaning = await look(tmp_path, issuer="https://okta.example/")

    assert state is FindingState.PROBLEM
    assert "calls itself 'https://okta.example/', not 'ISSUER'" in meaning


async def test_keys_that_can_not_be_read_are_a_problem(tmp_path: Path) -> None:
    state, meaning = await look(tmp_path, jwks_uri="http://127.0.0.1:1/keys")

    assert state is FindingState.PROBLEM
    assert "Nobody can sign in with Okta" in meaning


def test_a_provider_in_a_network_that_is_not_allowed_is_a_problem(tmp_path: Path) -> None:
    finding = look_at_oidc(chosen(tmp_path, oidc_issuer="http://127.0.0.1:9", **GIVEN))

    assert finding.state is FindingState.PROBLEM
    assert finding.fix is not None
    assert "OPENSLOT_OUTBOUND_ALLOW" in finding.fix


def test_without_a_provider_all_is_in_order(tmp_path: Path) -> None:
    assert look_at_oidc(chosen(tmp_path)).state is FindingState.OK


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"oidc_issuer": "https://okta.example"}, "OPENSLOT_OIDC_CLIENT_ID is missing"),
        ({"oidc_issuer": "https://okta.example", "oidc_client_id": "x"}, "OPENSLOT_OIDC_CLIENT_SECRET is missing"),
        ({"oidc_client_secret": "x"}, "OPENSLOT_OIDC_ISSUER is missing"),
        ({"oidc_issuer": "http://okta.example", **GIVEN}, "must begin with https://"),
        ({"oidc_issuer": "okta.example", **GIVEN}, "must begin with https://"),
        ({"oidc_issuer": "https://", **GIVEN}, "must have a host name"),
        ({"oidc_issuer": "https://okta.example?a=b", **GIVEN}, "it must not contain a query"),
    ],
)
def test_settings_that_can_not_work_are_refused_at_the_start(
    tmp_path: Path, settings: dict[str, object], words: str
) -> None:
    with pytest.raises(StartupError) as refused:
        chosen(tmp_path, **settings)
    assert words in str(refused.value)
