"""Addresses that Python and the database fold differently: nothing fails, and two spellings are one person."""

import sys
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import NamedTuple

import httpx2
import pytest
from msgspec.structs import replace as change

from openslot.domains.accounts import sign_ups
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.errors import ContactEmailAlreadyExists
from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.people import operations as people
from openslot.doors.web.organization.hosting_forms import read_hosts
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.errors import Refusal
from openslot.platform.core.folding import find_each
from openslot.platform.core.text import EmailAddress, Name, fold_ascii, parse_email
from openslot.platform.core.work import Runtime
from tests.support.clocks import clock
from tests.support.founding import found_team
from tests.support.provisioning import Provider, found_organization
from tests.support.some import some
from tests.support.wait_list import NINE, book_day, cancel_day, hand_out, offer_day, wait_for

__all__ = ["clock"]

CHANGED = """
select chr(n) as c, lower(chr(n)) as folded from generate_series(128, 1114111) n
where n not between 55296 and 57343 and lower(chr(n)) <> chr(n)"""
NEXT = NINE + timedelta(days=1)
BY_DATABASE: dict[str, str] = {}
# So many pairs are tried in `make test`. The first is İ, which becomes two characters in Python.
DAILY = 8


class Pair(NamedTuple):
    """Two spellings that are one address for the database."""

    one: str
    other: str


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return change(settings, limit_scim=100_000, sign_up="open")


@cache
def fold_by_python(fold: str) -> Mapping[str, str]:
    """Fold every character that Python changes."""
    every = map(chr, range(sys.maxunicode + 1))
    return {char: folded for char in every if (folded := getattr(char, fold)()) != char}


async def fold_by_database(runtime: Runtime) -> Mapping[str, str]:
    """Fold every character that the database changes; each database of the tests does so alike."""
    if not BY_DATABASE:
        BY_DATABASE.update({row["c"]: row["folded"] for row in await runtime.pool.fetch(CHANGED)})
    return BY_DATABASE


async def list_pairs(runtime: Runtime, fold: str, *, domain: str = "x.example") -> list[Pair]:
    """Find every character that Python folds otherwise than the database, with how that writes it."""
    by_database, by_python = await fold_by_database(runtime), fold_by_python(fold)
    both = sorted(by_database.keys() | by_python.keys())
    folds = [(char, by_database.get(char, char), by_python.get(char, char)) for char in both]
    differing = [(char, folded) for char, folded, other in folds if char > "\x7f" and folded != other]
    pairs = [Pair(f"{char}a@{domain}", f"{folded}A@{domain.upper()}") for char, folded in differing]
    return [pair for pair in pairs if is_address(pair.one) and is_address(pair.other)]


def is_address(text: str) -> bool:
    try:
        parse_email(text)
    except ValueError:
        return False
    return True


async def test_two_spellings_are_one_contact(runtime: Runtime, user: User) -> None:
    pairs = sorted({*await list_pairs(runtime, "lower"), *await list_pairs(runtime, "casefold")})
    assert len(pairs) > 200
    async with runtime.transaction(OPERATOR) as work:
        for one, other in some(pairs, daily=4 * DAILY):
            made = await contacts.find_or_add_contact(work, owner_id=user.id, name="A", email=parse_email(one))
            assert (
                await contacts.find_or_add_contact(work, owner_id=user.id, name="A", email=parse_email(other)) == made
            )
            with pytest.raises(ContactEmailAlreadyExists):
                await contacts.add_contact(work, user, ContactWanted(name=Name("A"), email=EmailAddress(other)))
        await work.record()


async def test_two_spellings_book_and_wait_as_one(runtime: Runtime, user: User) -> None:
    """Both wait for days that are free at once: they are offered one time, and cancellations go on."""
    day = await offer_day(runtime, user)
    for one, other in some(await list_pairs(runtime, "lower"), daily=DAILY):
        first, second = await book_day(runtime, day, email=one), await book_day(runtime, day, NEXT, email=other)
        assert first.contact_id == second.contact_id
        await wait_for(runtime, day, one)
        await wait_for(runtime, day, other, day=NEXT.date())
        await runtime.pool.execute("update event_types set wait_list_minutes = null")
        await cancel_day(runtime, first)
        await cancel_day(runtime, second)
        await runtime.pool.execute("update event_types set wait_list_minutes = 120")
        await hand_out(runtime)
        assert await runtime.pool.fetchval("select count(*) from wait_list_offers where state = 'offered'") == 1
        assert await runtime.pool.fetchval("select count(*) from failed_items") == 0
        await runtime.pool.execute("delete from wait_list_entries")
        await runtime.pool.execute("update claims set active = false where kind = 'offer'")


async def verify(runtime: Runtime, token: str) -> None:
    work = runtime.work(PUBLIC)
    await people.verify_sign_up(work, token, browser="cookie", password="", address="192.0.2.1", user_agent="")


async def test_two_spellings_sign_up_for_one_account(runtime: Runtime, password_hash: str) -> None:
    for one, other in some(await list_pairs(runtime, "lower"), daily=DAILY):
        tokens = []
        for email in (one, other):
            async with runtime.transaction(PUBLIC) as work:
                wanted = UserWanted(email=email, name="A")
                made = await sign_ups.request_sign_up(work, wanted, password_hash=password_hash, browser="cookie")
            tokens.append(sign_ups.sign_up_token(runtime, made.id))
        await verify(runtime, tokens[0])
        with pytest.raises(Refusal):
            await verify(runtime, tokens[1])
        rows = await runtime.pool.fetch("select email from users where lower(email) = lower($1)", other)
        assert [row["email"] for row in rows] == [parse_email(one)]


async def test_two_spellings_are_one_member_for_scim(runtime: Runtime, client: httpx2.AsyncClient) -> None:
    _, token = await found_organization(runtime, "harbor", "harbor.example")
    provider = Provider(client, token)
    for domain in ("harbor.example", "elsewhere.example"):
        for one, other in some(await list_pairs(runtime, "lower", domain=domain), daily=DAILY // 2):
            made = await provider.create(one)
            again = await provider.send("POST", "/Users", {"userName": other})
            assert again.status_code == 409, again.text
            found = await provider.find(f'userName eq "{other}"')
            assert [each["id"] for each in found["Resources"]] == [made["id"]]
            moved = await provider.patch(made["id"], {"op": "replace", "path": "userName", "value": other})
            assert moved.status_code == 200, moved.text
            assert await runtime.pool.fetchval("select count(*) from users where lower(email) = lower($1)", one) == 1


async def test_two_spellings_are_one_team_and_one_of_its_hosts(runtime: Runtime, client: httpx2.AsyncClient) -> None:
    _, token = await found_organization(runtime, "harbor", "harbor.example")
    provider = Provider(client, token)
    founded = await found_team(runtime, slug="choir")
    user_id = founded.hosts[0].id
    for one, other in some(await list_pairs(runtime, "lower"), daily=DAILY):
        group, again = one.partition("@")[0], other.partition("@")[0]
        made = await provider.send("POST", "/Groups", {"displayName": group})
        assert made.status_code == 201, made.text
        assert (await provider.send("POST", "/Groups", {"displayName": again})).status_code == 409
        renamed = await provider.send("PUT", f"/Groups/{made.json()['id']}", {"displayName": again})
        assert renamed.status_code == 200, renamed.text

        await runtime.pool.execute("update users set email = $2 where id = $1", user_id, one)
        typed = await read_hosts(runtime.work(OPERATOR), founded.team, f"{other}, 50")
        assert [(each.user_id, each.weight) for each in typed] == [(user_id, 50)]


async def test_members_are_found_as_the_database_folds(runtime: Runtime) -> None:
    pairs = [*await list_pairs(runtime, "lower"), Pair("ÄRGER@x.example", "ärger@X.example")]
    known = {pair.one: number for number, pair in enumerate(pairs)}
    found = await find_each(runtime.pool, [*(pair.other for pair in pairs), "nobody", "a\0b"], known)
    assert found == {pair.other: number for number, pair in enumerate(pairs)}
    # Whoever is written exactly so comes first.
    assert await find_each(runtime.pool, ["ia"], {"\u0130a": 1, "ia": 2}) == {"ia": 2}


@pytest.mark.parametrize(
    ("text", "folded"),
    [("Li@X.Example", "li@x.example"), ("\u0130A", "\u0130a"), ("Straße", "straße"), ("\u212a", "\u212a")],
)
def test_letters_about_which_nobody_disagrees_are_folded_by_us(text: str, folded: str) -> None:
    assert fold_ascii(text) == folded
