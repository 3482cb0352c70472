"""Who may see and do what: every role, page and method, written by hand."""

import re
from collections.abc import AsyncIterator
from uuid import uuid4

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.organizations.operations import TxtResolver
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.platform.routing import collect, find_declaration
from openslot.runtime import open_runtime
from tests.doors.web.organization.conftest import Harbor, act_as, add_user, count_changes, join
from tests.doors.web.organization.driving import Stage, fill, set_stage
from tests.support.clocks import MovingClock
from tests.support.hidden_forms import hide_forms
from tests.support.host import Book
from tests.support.live import connect, serving
from tests.support.name_server import FakeResolver
from tests.support.page import read_page
from tests.support.parts import is_daily
from tests.support.some import some
from tests.support.table_contents import read_tables

# 200 and 303 are the answer; 404 is the one of a path that does not exist; "in" leads to the sign-in.
# owner, administrator, member, owner of another organization, Business plan without one, Free plan without one,
# administrator of the platform, signed out.
NOT = 404
DONE = {200, 303}
TABLE: dict[str, tuple[int | str, ...]] = {
    "GET /organization": (200, 200, 200, 200, NOT, NOT, NOT, "in"),
    "POST /organization/switch": (303, 303, 303, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/new": (200, 200, 200, 200, 200, 200, 200, "in"),
    "POST /organization/new": (303, 303, 303, 303, 303, 403, 403, "in"),
    "GET /organization/members": (200, 200, NOT, 200, NOT, NOT, NOT, "in"),
    "POST /organization/members": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/members/{member_id}": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/members/{member_id}/role": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/members/{member_id}/reinstate": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/members/{member_id}/invitation": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/members/{member_id}/withdraw": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/members/{member_id}/remove": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/members/{member_id}/remove": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/members/{member_id}/suspend": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/members/{member_id}/suspend": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/provisioning": (200, 200, NOT, 200, NOT, NOT, NOT, "in"),
    "POST /organization/provisioning/tokens": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/provisioning/tokens/{token_id}/revoke": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/provisioning/tokens/{token_id}/revoke": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/provisioning/waiting": (200, 200, NOT, 200, NOT, NOT, NOT, "in"),
    "POST /organization/provisioning/waiting/approve": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/provisioning/waiting/reject": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/provisioning/waiting/{user_id}": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/provisioning/waiting/{user_id}/approve": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/provisioning/waiting/{user_id}/reject": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/provisioning/log": (200, 200, NOT, 200, NOT, NOT, NOT, "in"),
    "GET /organization/domains": (200, 200, NOT, 200, NOT, NOT, NOT, "in"),
    "POST /organization/domains": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/domains/{domain}/check": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/domains/{domain}/remove": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/domains/{domain}/remove": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/payments": (200, 200, NOT, 200, NOT, NOT, NOT, "in"),
    "POST /organization/payments": (400, 400, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/payments/disconnect": (200, 200, NOT, 303, NOT, NOT, NOT, "in"),
    "POST /organization/payments/disconnect": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/messages": (200, 200, NOT, 200, NOT, NOT, NOT, "in"),
    "POST /organization/messages": (400, 400, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/messages/{connection_id}": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/messages/{connection_id}/token": (400, 400, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/messages/{connection_id}/test": (400, 400, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/messages/{connection_id}/host": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/messages/{connection_id}/cancelling": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/messages/{connection_id}/template": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/messages/{connection_id}/countries": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/messages/{connection_id}/disconnect": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/messages/{connection_id}/disconnect": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/teams": (200, 200, 200, 200, NOT, NOT, NOT, "in"),
    "POST /organization/teams": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/teams/{team_id}": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/teams/{team_id}": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/teams/{team_id}/delete": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/teams/{team_id}/delete": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/teams/{team_id}/members": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/teams/{team_id}/members/{teammate_id}": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/teams/{team_id}/members/{teammate_id}": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/teams/{team_id}/members/{teammate_id}/remove": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/teams/{team_id}/members/{teammate_id}/remove": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/teams/{team_id}/event-types/{event_type_id}/ledger": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/teams/{team_id}/event-types/{event_type_id}/hosts": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/teams/{team_id}/event-types/{event_type_id}/hosts": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/teams/{team_id}/event-types/new": (200, 200, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/teams/{team_id}/event-types/new": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/settings": (200, 200, NOT, 200, NOT, NOT, NOT, "in"),
    "POST /organization/settings/names": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/settings/brand": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/settings/departures": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "POST /organization/settings/assistants": (303, 303, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/delete": (200, 403, NOT, 200, NOT, NOT, NOT, "in"),
    "POST /organization/delete": (303, 403, NOT, NOT, NOT, NOT, NOT, "in"),
    "GET /organization/log": (200, 200, NOT, 200, NOT, NOT, NOT, "in"),
    "GET /organization/log.csv": (200, 200, NOT, 200, NOT, NOT, NOT, "in"),
}
# So many lines of it are tried for each person, and of each kind, in `make test`.
DAILY = 16
# What only pages of Harbor contain.
MARKS = re.compile(r"harbor\.example|second\.example|Harbor|Okta at Harbor")


def test_every_page_is_in_the_table() -> None:
    declared = [find_declaration(handler) for handler in collect("openslot.doors.web.organization")]

    assert sorted(TABLE) == sorted(f"{each.method} {each.path}" for each in declared if each is not None)


def list_people(harbor: Harbor) -> tuple[User | None, ...]:
    """List everyone in the order of the table."""
    others = (harbor.foreign_owner, harbor.nobody, harbor.free, harbor.platform)
    return (harbor.owner, harbor.admin, harbor.member, *others, None)


async def test_every_page_and_every_refusal(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book
) -> None:
    stage = await set_stage(runtime, harbor, resolver, book)
    changes = await count_changes(runtime)
    for place, who in enumerate(list_people(harbor)):
        if who is None:
            client.headers.pop("cookie")
        else:
            await act_as(client, runtime, who)
        nothing = await client.get("/organization/nothing")
        for line, expected in some(TABLE.items(), daily=DAILY, offset=place):
            method, _, template = line.partition(" ")
            if method == "POST" and expected[place] in DONE:
                continue
            answer = await send(client, stage, method, template)

            assert outcome(answer) == expected[place], (line, who, answer.text)
            check_marks(answer, harbor, who, line)
            if answer.status_code == NOT:
                assert answer.text == nothing.text or template.count("{"), (line, who, answer.text)
        assert await count_changes(runtime) == changes, who


@pytest.mark.rest("opens every page or sends every form")
async def test_every_form_does_what_it_is_for(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book
) -> None:
    stage = await set_stage(runtime, harbor, resolver, book)
    forms = ((line, expected) for line, expected in TABLE.items() if line.startswith("POST"))
    for line, expected in some(forms, daily=DAILY // 2):
        _, _, template = line.partition(" ")
        for who, wanted in zip(list_people(harbor), expected, strict=True):
            if who is None or wanted not in DONE:
                continue
            if "{" in template or "/waiting/" in template or "/payments/" in template:
                stage = await set_stage(runtime, harbor, resolver, book)
            # An earlier form has changed the name, which is typed to delete the organization.
            await runtime.pool.execute("update organizations set name = 'Harbor' where slug like 'harbor%'")
            await act_as(client, runtime, who)
            answer = await send(client, stage, "POST", template)

            assert outcome(answer) == wanted, (line, who, answer.text)
            check_marks(answer, harbor, who, line)


def outcome(answer: httpx2.Response) -> int | str:
    """Say what the table says about an answer."""
    is_in = answer.status_code == 303 and answer.headers["location"].startswith("/login")
    return "in" if is_in else answer.status_code


def check_marks(answer: httpx2.Response, harbor: Harbor, who: User | None, line: str) -> None:
    if who not in {harbor.owner, harbor.admin, harbor.member}:
        assert not MARKS.search(answer.text), (line, who, answer.text)


async def send(client: httpx2.AsyncClient, stage: Stage, method: str, template: str) -> httpx2.Response:
    if method == "GET":
        return await client.get(stage.path(template))
    data = {"organization": str(stage.harbor.organization.id), **fill(template)}
    return await client.post(stage.path(template), data=data)


# What forms send here that the table is content to have refused: it must not be their fault that nothing is found.
SOUND = {
    "/organization/messages/{connection_id}/token": {"token": "0123456789abcdef0123456789abcdef"},
    "/organization/messages/{connection_id}/test": {"phone": "+493012345678"},
}


@pytest.fixture
async def bare(settings: Settings, clock: MovingClock, resolver: FakeResolver) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server whose forms are not shown again."""
    app = hide_forms(create_app(settings, clock=clock))
    app._open_runtime = lambda: open_runtime(settings, clock=clock, fakes={TxtResolver: resolver})
    async with serving(app) as base_url, connect(base_url, timeout=60) as opened:
        yield opened


async def ask(client: httpx2.AsyncClient, line: str, values: dict[str, str], organization: object) -> tuple[int, str]:
    """Ask about these ids, and return the answer without them."""
    method, _, template = line.partition(" ")
    data = (
        {"organization": str(organization), **fill(template), **SOUND.get(template, {})} if method == "POST" else None
    )
    answer = await client.request(method, template.format(**values), data=data)
    shown = answer.text
    for value in values.values():
        shown = shown.replace(value, "ID")
    return answer.status_code, shown


@pytest.mark.rest("opens every page or sends every form")
async def test_another_organizations_id_is_like_none(
    client: httpx2.AsyncClient,
    bare: httpx2.AsyncClient,
    runtime: Runtime,
    harbor: Harbor,
    resolver: FakeResolver,
    book: Book,
) -> None:
    beacon = replace(harbor, organization=harbor.other, owner=harbor.foreign_owner)
    stage = await set_stage(runtime, harbor, resolver, book)
    own_stage = await set_stage(runtime, beacon, resolver, book, verified="beacon.example")
    tried, lines = set(), [line for line in TABLE if "{" in line or TABLE[line][3] == NOT]
    for asking in (client, bare):
        await act_as(asking, runtime, harbor.foreign_owner)
        before = await read_tables(runtime)
        for line in some(lines, daily=DAILY):
            template = line.partition(" ")[2]
            names = re.findall(r"\{(\w+)\}", template)
            theirs, own = stage.values(template), own_stage.values(template)
            # All ids are another organization's, or one of them is and the others are one's own.
            for foreign in {frozenset(names), *(frozenset([name]) for name in names)} - {frozenset()}:
                unknown = {name: "nothing.example" if name == "domain" else str(uuid4()) for name in foreign}
                found = await ask(asking, line, own | {name: theirs[name] for name in foreign}, harbor.other.id)
                none = await ask(asking, line, own | unknown, harbor.other.id)

                assert found[0] == 404, (line, foreign, found)
                assert found == none, (line, foreign, found, none)
                tried.add((line, foreign))
            if line.startswith("POST") and TABLE[line][3] == NOT:
                # A form says which organization it is about.
                found, none = [await ask(asking, line, own, each) for each in (harbor.organization.id, uuid4())]
                assert found == none == (404, none[1]), (line, found, none)
        assert await read_tables(runtime) == before
    assert len(tried) == 54 or (is_daily() and len(tried) > 10)


async def test_an_administrator_may_not_decide_about_an_owner(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, password_hash: str
) -> None:
    second = await add_user(runtime, "otto", password_hash)
    otto = await join(runtime, harbor.organization, second, Role.OWNER)
    await act_as(client, runtime, harbor.admin)
    path = f"/organization/members/{otto}"
    shown = await client.get(path)
    refused = [await client.post(f"{path}/role", data={"role": "member"})]
    refused += [await client.post(f"{path}/{deed}") for deed in ("remove", "suspend", "reinstate", "invitation")]
    promoted = await client.post(f"/organization/members/{harbor.id_of(harbor.member)}/role", data={"role": "owner"})
    invited = await client.post("/organization/members", data={"email": "x@y.example", "role": "owner"})

    assert "Only owners can manage other owners" in read_page(shown).text
    assert (await client.get(f"{path}/remove")).status_code == 303
    assert [answer.status_code for answer in refused] == [403, 403, 403, 403, 403]
    assert (promoted.status_code, invited.status_code) == (403, 400)
    assert "Only an owner can do this" in read_page(invited).faults["role"]
    assert await runtime.pool.fetchval("select role from memberships where id = $1", otto) == "owner"
    assert await runtime.pool.fetchval("select active from memberships where id = $1", otto) is True
    assert await count_changes(runtime) == 0


async def test_nobody_suspends_or_removes_themselves(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    for user in (harbor.owner, harbor.admin):
        await act_as(client, runtime, user)
        path = f"/organization/members/{harbor.id_of(user)}"
        for deed in ("remove", "suspend"):
            assert (await client.get(f"{path}/{deed}")).headers["location"] == path
            assert (await client.post(f"{path}/{deed}")).status_code == 409
        assert "Active" in read_page(await client.get(path)).text
