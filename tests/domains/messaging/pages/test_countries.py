"""The countries that a number sends messages to: chosen on its page and by command; hosts see who asked for others."""

import asyncio

import httpx2
import pytest

from openslot.domains.accounts.models import Organization, User
from openslot.domains.allowances.models import Allowance, CauseKind, Cost, CostCause
from openslot.domains.allowances.operations import list_refusals, note_refused_cost
from openslot.domains.allowances.rules import DAY
from openslot.domains.messaging.connections.models import ConnectionChannel, MessagingConnection
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.countries import EVERY, is_allowed, read_countries, write_countries
from openslot.platform.core.errors import Invalid
from openslot.platform.core.work import Runtime
from tests.domains.messaging.pages.conftest import NUMBER
from tests.support.command_line import Run
from tests.support.fake_twilio import FakeAccount
from tests.support.messaging import insert_number
from tests.support.page import read_page

HERE = "/settings/messages"
CHOSEN = "select countries from messaging_connections"


@pytest.mark.parametrize(
    ("text", "countries"),
    [("", ()), (" de, at;CH  de ", ("DE", "AT", "CH")), ("all", (EVERY,)), ("*", (EVERY,))],
)
def test_countries_are_read_as_people_write_them(text: str, countries: tuple[str, ...]) -> None:
    assert read_countries(text) == countries
    assert read_countries(write_countries(countries)) == countries


@pytest.mark.parametrize("text", ["XX", "Germany", "DE, all", "49", "<b>"])
def test_what_is_no_country_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_countries(text)
    assert "countries" in (refused.value.details or {})


@pytest.mark.parametrize(
    ("number", "countries", "phone", "is_sent"),
    [
        ("+4930111222", (), "+4915112345678", True),
        ("+4930111222", (), "+535123456", False),
        ("+4930111222", (), "+43664123456", False),
        ("+4930111222", ("AT",), "+43664123456", True),
        ("+4930111222", ("AT",), "+4915112345678", False),
        ("+4930111222", (EVERY,), "+535123456", True),
        # One country code, several countries and prices.
        ("+14155550100", (), "+12125550100", True),
        ("+14155550100", (), "+18765550100", False),
        ("+14155550100", (), "+88213300655", False),
    ],
)
def test_a_number_sends_to_the_countries_that_were_chosen_or_to_its_own(
    number: str, countries: tuple[str, ...], phone: str, *, is_sent: bool
) -> None:
    assert is_allowed(phone, number=number, countries=countries) is is_sent


async def test_a_host_chooses_the_countries_on_the_page_of_the_number(
    member: httpx2.AsyncClient, runtime: Runtime, number: MessagingConnection
) -> None:
    page = f"{HERE}/{number.id}"
    assert read_page(await member.get(page)).fields["countries"].value == "all"
    saved = await member.post(f"{page}/countries", data={"countries": "de, at"})
    assert saved.headers["location"] == f"{page}?done=saved"
    assert await runtime.pool.fetchval(CHOSEN) == ["DE", "AT"]
    assert read_page(await member.get(page)).fields["countries"].value == "DE, AT"

    wrong = await member.post(f"{page}/countries", data={"countries": "de, xx"})
    assert "XX" in read_page(wrong).faults["countries"]
    await member.post(f"{page}/countries", data={"countries": ""})
    assert await runtime.pool.fetchval(CHOSEN) == []
    assert "Germany" in read_page(await member.get(page)).text


async def test_an_administrator_chooses_them_for_an_organization_and_it_is_logged(
    member: httpx2.AsyncClient, runtime: Runtime, harbor: Organization
) -> None:
    shared = await insert_number(runtime, organization_id=harbor.id, number=NUMBER)
    page = f"/organization/messages/{shared.id}"
    saved = await member.post(f"{page}/countries", data={"organization": str(harbor.id), "countries": "FR"})

    assert saved.headers["location"] == f"{page}?done=saved"
    assert await runtime.pool.fetchval(CHOSEN) == ["FR"]
    logged = await runtime.pool.fetchrow("select before, after from change_log order by at desc limit 1")
    assert logged is not None
    assert ("all" in logged["before"], "FR" in logged["after"]) == (True, True)


async def test_a_number_for_calls_has_no_countries(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, account: FakeAccount
) -> None:
    voice = await insert_number(
        runtime, user_id=user.id, channel=ConnectionChannel.VOICE, account=account.sid, countries=()
    )
    assert "countries" not in read_page(await member.get(f"{HERE}/{voice.id}")).fields
    assert (await member.post(f"{HERE}/{voice.id}/countries", data={"countries": "DE"})).status_code == 400


async def test_the_command_chooses_them(
    command_line: Run, runtime: Runtime, user: User, account: FakeAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENSLOT_TWILIO_URL", runtime.settings.twilio_url)
    base: tuple[str, ...] = (
        "messaging",
        "connect",
        "--account",
        account.sid,
        "--number",
        NUMBER,
        "--channel",
        "sms",
        "--token-stdin",
    )
    base = (*base, "--user", user.email)
    for countries, kept in (("de,at", ["DE", "AT"]), (None, ["DE", "AT"]), ("all", [EVERY])):
        chosen = () if countries is None else ("--countries", countries)
        done = await asyncio.to_thread(command_line, *base, *chosen, typed=f"{account.token}\n")
        assert done.exit_code == 0, done.output
        assert await runtime.pool.fetchval(CHOSEN) == kept


async def test_a_host_sees_on_the_first_screen_what_was_not_sent(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, number: MessagingConnection
) -> None:
    for kind, most in ((CauseKind.COUNTRY, 0), (CauseKind.LIMIT, 100)):
        cause = CostCause(kind=kind, name=str(user.id))
        note_refused_cost(runtime, Cost.MESSAGE, cause, Allowance(most, DAY), host_id=user.id)
    while len(await list_refusals(runtime.work(SYSTEM), user.id)) < 2:
        await asyncio.sleep(0.01)
    shown = read_page(await member.get("/")).text

    assert "in a country that your number does not send to" in shown
    assert "The limit of messages to invitees is reached" in shown
    assert "At most 100 in 24 hours. Your own replies are counted apart." in shown
