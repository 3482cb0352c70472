"""An organization is created, named and dressed; the navigation shows what one may do."""

import re

import httpx2

from openslot.platform.core.work import Runtime
from tests.doors.web.organization.conftest import Harbor, act_as
from tests.support.page import read_page

SETTINGS = "/organization/settings"


async def nav(client: httpx2.AsyncClient) -> list[str]:
    page = (await client.get("/")).text
    found = re.search(r'id="nav-organization".*?</ul>', page, re.DOTALL)
    return re.findall(r"<a [^>]+>.*?<span>([^<]+)</span>", found[0], re.DOTALL) if found else []


async def test_the_navigation_shows_what_one_may_do(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    everything = [
        "Members",
        "Teams",
        "Provisioning",
        "Domains",
        "Payment account",
        "Messages",
        "Settings",
        "Change log",
    ]
    for user, shown in (
        (harbor.owner, everything),
        (harbor.admin, everything),
        (harbor.member, ["About your organization", "Teams"]),
        (harbor.nobody, ["Create an organization"]),
        (harbor.free, []),
        (harbor.platform, []),
    ):
        await act_as(client, runtime, user)
        assert await nav(client) == shown, user.name
        palette = (await client.get("/help")).text.partition("<main")[2].partition("</main")[0]
        assert (">Organization settings<" in palette) == (shown == everything)


async def test_a_suspended_or_invited_member_sees_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await act_as(client, runtime, harbor.admin)
    await runtime.pool.execute("update memberships set active = false where id = $1", harbor.id_of(harbor.admin))

    assert await nav(client) == []
    assert (await client.get("/organization/members")).status_code == 404


async def test_a_business_user_creates_an_organization_on_the_free_plan(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await act_as(client, runtime, harbor.nobody)
    answer = await client.post("/organization/new", data={"name": "Nóra & Söhne", "plan": "BUSINESS"})
    row = await runtime.pool.fetchrow("select slug, plan from organizations where name = 'Nóra & Söhne'")

    assert answer.headers["location"] == "/organization/members?done=created"
    assert row is not None
    assert (row["slug"], row["plan"]) == ("nora-sohne", "FREE")
    assert "you are its owner" in read_page(await client.get(answer.headers["location"])).notices[0]
    assert "Members" in await nav(client)


async def test_an_administrator_of_the_platform_chooses_the_plan(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await runtime.pool.execute("update users set plan = 'BUSINESS' where id = $1", harbor.platform.id)
    await act_as(client, runtime, harbor.platform)
    assert '<option value="BUSINESS" selected>' in (await client.get("/organization/new")).text
    wrong = await client.post("/organization/new", data={"name": "Ada", "slug": "ada-org", "plan": "GOLD"})
    assert (wrong.status_code, read_page(wrong).faults) == (400, {"plan": "Choose one of these"})
    await client.post("/organization/new", data={"name": "Ada", "slug": "ada-org", "plan": "BUSINESS"})

    assert await runtime.pool.fetchval("select plan from organizations where slug = 'ada-org'") == "BUSINESS"


WRONG_ORGANIZATIONS: list[tuple[dict[str, str], str]] = [
    ({"name": ""}, "Enter the name of the organization"),
    ({"name": "x" * 201}, "Must have at most 200 characters"),
    ({"name": "日本"}, "Must be 1 to 50 lower-case letters"),
    ({"name": "X", "slug": "Über uns"}, "Must be 1 to 50 lower-case letters"),
    ({"name": "X", "slug": "HARBOR"}, "Is taken"),
]


async def test_a_wrong_organization_is_explained(client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> None:
    await act_as(client, runtime, harbor.nobody)
    for fields, fault in WRONG_ORGANIZATIONS:
        answer = await client.post("/organization/new", data=fields)

        assert (answer.status_code, fault in read_page(answer).text) == (400, True), answer.text
        assert await runtime.pool.fetchval("select count(*) from organizations") == 2, (fields, fault)


async def test_without_the_plan_the_page_says_so(client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> None:
    await act_as(client, runtime, harbor.free)
    shown = await client.get("/organization/new")

    assert "part of the Business plan" in read_page(shown).notices[0]
    assert 'action="/organization/new"' not in shown.text


async def test_settings_are_saved_and_shown(owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> None:
    del harbor
    for path, fields in (
        ("names", {"name": "Harbor & Sons", "slug": "sons"}),
        ("brand", {"brand": "Sons", "color": "#AA3355", "logo": "https://x.example/a.png"}),
        ("departures", {"keeps": "on", "share": "35"}),
    ):
        assert (await owner.post(f"{SETTINGS}/{path}", data=fields)).headers["location"] == f"{SETTINGS}?done=saved"
    shown = (await owner.get(f"{SETTINGS}?done=saved")).text
    row = await runtime.pool.fetchrow(
        """select o.name, o.slug, b.name as brand, b.color, b.logo_url, s.keeps_bookings, s.departure_share
        from organizations o join brands b on b.organization_id = o.id
        join organization_settings s on s.organization_id = o.id"""
    )
    assert row is not None

    assert tuple(row.values()) == ("Harbor & Sons", "sons", "Sons", "#aa3355", "https://x.example/a.png", True, 35)
    for text in ("Saved.", "Harbor &amp; Sons", 'value="#aa3355"', 'name="keeps" checked', 'value="35"', "Business"):
        assert text in shown, text


WRONG_SETTINGS: list[tuple[str, dict[str, str], str]] = [
    ("names", {"name": "", "slug": "x"}, "Enter the name of the organization"),
    ("names", {"name": "Harbor", "slug": ""}, "Enter a short name"),
    ("names", {"name": "Harbor", "slug": "Beacon"}, "Is taken"),
    ("names", {"name": "Harbor", "slug": "-x-"}, "Must be 1 to 50 lower-case letters"),
    ("brand", {"color": "red"}, "Must be a color such as #3155d9"),
    ("brand", {"logo": "http://x.example/a.png"}, "Must be a link that begins with https://"),
    ("brand", {"logo": "javascript:x()"}, "Must be a link that begins with https://"),
    ("brand", {"brand": "x" * 101}, "Must have at most 100 characters"),
    ("departures", {"share": "101"}, "Must be at most 100"),
    ("departures", {"share": "many"}, "Must be an integer"),
    ("departures", {"share": ""}, "Enter a number from 0 to 100"),
]


async def test_a_wrong_setting_is_explained_and_keeps_what_was_typed(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    del harbor
    for path, fields, fault in WRONG_SETTINGS:
        answer = await owner.post(f"{SETTINGS}/{path}", data=fields)

        assert (answer.status_code, fault in read_page(answer).text) == (400, True), answer.text
        for value in fields.values():
            assert f'value="{value}"' in answer.text, (path, fields)
        assert await runtime.pool.fetchval("select count(*) from change_log") == 0, (path, fields)
