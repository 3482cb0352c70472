"""Refused authentications: counted by kind, and addresses that are kept out are named once, however many there are."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from prometheus_client import REGISTRY

from openslot.domains.access import failures
from openslot.domains.access.failures import NAMED_AT_MOST, KeptOut
from openslot.domains.access.models import CredentialKind, new_key
from openslot.domains.accounts.models import User
from openslot.doors.agents import door as agents
from openslot.doors.assistants import door as assistants
from openslot.doors.scim import door as scim

ME = "/api/v1/me"
Lines = list[tuple[str, dict[str, str]]]


class Logged:
    """Stands for the log and remembers its warnings."""

    def __init__(self) -> None:
        self.lines: Lines = []

    def warning(self, event: str, **values: Any) -> None:
        """Remember one."""
        self.lines.append((event, values))


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Lines:
    """What the log says, of a process that has named nobody yet."""
    logged = Logged()
    monkeypatch.setattr(failures, "log", logged)
    monkeypatch.setattr(failures, "KEPT_OUT", KeptOut())
    return logged.lines


@pytest.fixture
def counts() -> Callable[[str], tuple[float, float]]:
    """Tell how many of a kind were refused since the test began: wrong ones, and those after too many."""

    def read(credential: str) -> tuple[float, float]:
        labels = ({"credential": credential, "why": why} for why in ("wrong", "too_many"))
        wrong, too_many = (REGISTRY.get_sample_value("openslot_refused_credentials_total", each) for each in labels)
        return wrong or 0, too_many or 0

    before = {kind: read(kind) for kind in (*CredentialKind, failures.PASSWORD)}

    def since(credential: str) -> tuple[float, float]:
        now, then = read(credential), before[credential]
        return now[0] - then[0], now[1] - then[1]

    return since


async def test_what_the_limit_of_failures_refuses_is_counted_and_its_address_named_once(
    client: httpx2.AsyncClient, lines: Lines, counts: Callable[[str], tuple[float, float]], bearer: dict[str, str]
) -> None:
    wrong = {"Authorization": f"Bearer {new_key(CredentialKind.API_KEY)}"}
    statuses = [(await client.get(ME, headers=each)).status_code for each in (bearer, *[wrong] * 7, {})]

    assert statuses == [200, *[401] * 5, *[429] * 3]
    assert counts("api_key") == (5, 3)
    assert lines == [("too many failed authentications", {"address": "127.0.0.1", "credential": "api_key"})]


@pytest.mark.rest("waits for seconds")
async def test_doors_are_counted_for_themselves(
    client: httpx2.AsyncClient, lines: Lines, counts: Callable[[str], tuple[float, float]]
) -> None:
    for path in (f"{scim.PREFIX}/Users", assistants.PATH, agents.PATH):
        assert (await client.post(path, json={})).status_code == 401

    wrong, none = (1, 0), (0, 0)
    assert {kind: counts(kind) for kind in CredentialKind} == {
        CredentialKind.API_KEY: none,
        CredentialKind.SCIM_TOKEN: wrong,
        CredentialKind.ASSISTANT_TOKEN: wrong,
        CredentialKind.AGENT_KEY: wrong,
    }
    assert lines == []


async def test_wrong_passwords_are_counted_and_a_right_one_is_not(
    client: httpx2.AsyncClient, user: User, lines: Lines, counts: Callable[[str], tuple[float, float]]
) -> None:
    for _ in range(7):
        await client.post("/login", data={"email": user.email, "password": "wrong"})

    assert counts("password") == (5, 2)
    assert lines == [("too many failed authentications", {"address": "127.0.0.1", "credential": "password"})]
    assert user.email not in str(lines)


def test_an_address_is_named_once_a_minute(lines: Lines) -> None:
    now = [0.0]
    kept_out = KeptOut(clock=lambda: now[0])
    for second in (0, 1, 59.9, 60, 61, 200):
        now[0] = second
        kept_out.name("192.0.2.1", "api_key")
        kept_out.name("192.0.2.2", "api_key")

    assert [values["address"] for _, values in lines] == ["192.0.2.1", "192.0.2.2"] * 3


def test_an_attack_from_many_addresses_fills_neither_the_log_nor_the_memory(lines: Lines) -> None:
    now = [0.0]
    kept_out = KeptOut(clock=lambda: now[0])
    for minute in range(2):
        now[0] = 60.0 * minute
        for number in range(10_000):
            kept_out.name(f"2001:db8:0:{number:x}::/64", "api_key")

    assert len(lines) == 2 * (NAMED_AT_MOST + 1)
    assert [values for _, values in lines].count({}) == 2
    assert len(kept_out._named) == NAMED_AT_MOST + 1
