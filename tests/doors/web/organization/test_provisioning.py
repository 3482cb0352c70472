"""Provisioning: tokens shown once, what a provider did, and departures that wait for a decision."""

import re
from datetime import timedelta
from uuid import UUID

import httpx2

from openslot.platform.core.work import Runtime
from tests.doors.web.organization.conftest import Harbor, act_as
from tests.support.clocks import MovingClock
from tests.support.host import Book
from tests.support.page import read_page
from tests.support.provisioning import Provider

PAGE = "/organization/provisioning"
LOG = f"{PAGE}/log"
SUSPEND = {"op": "replace", "path": "active", "value": False}


async def make_token(client: httpx2.AsyncClient, name: str = "Okta") -> str:
    made = await client.post(f"{PAGE}/tokens", data={"name": name, "expires": "never"})
    found = re.search(r"svc_scim_\w+", made.text)
    assert found is not None
    return found[0]


async def test_a_token_is_shown_once_used_and_revoked(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    del harbor
    token = await make_token(owner)
    shown = await owner.get(PAGE)
    assert token not in shown.text
    assert f"<code>{token[-4:]}</code>" in shown.text
    assert "Not yet" in read_page(shown).text
    assert "http://127.0.0.1:8000/api/scim/v2" in read_page(shown).text
    provider = Provider(owner, token)
    assert (await provider.send("GET", "/Users")).status_code == 200
    assert "Not yet" not in (await owner.get(PAGE)).text
    token_id = await runtime.pool.fetchval("select id from scim_tokens")
    assert "Revoke “" in read_page(await owner.get(f"{PAGE}/tokens/{token_id}/revoke")).text
    answer = await owner.post(f"{PAGE}/tokens/{token_id}/revoke")

    assert (await provider.send("GET", "/Users")).status_code == 401
    assert "The token was revoked" in read_page(await owner.get(answer.headers["location"])).notices[0]
    assert (await owner.get(f"{PAGE}/tokens/{token_id}/revoke")).headers["location"] == PAGE


WRONG_TOKENS: list[tuple[dict[str, str], str]] = [
    ({"name": "", "expires": "never"}, "Give the token a name"),
    ({"name": "x" * 101, "expires": "never"}, "Must have at most 100 characters"),
    ({"name": "a\x01", "expires": "never"}, "Has characters that are not allowed"),
    ({"name": "\u202e\u200b", "expires": "never"}, "Must contain visible characters"),
    ({"name": "Okta", "expires": "soon"}, "Must be one of"),
    ({"name": "Okta"}, "Choose one of these"),
]


async def test_a_wrong_token_form_is_explained(owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> None:
    del harbor
    for fields, fault in WRONG_TOKENS:
        answer = await owner.post(f"{PAGE}/tokens", data=fields)

        assert (answer.status_code, fault in read_page(answer).text) == (400, True), answer.text
        assert await runtime.pool.fetchval("select count(*) from scim_tokens") == 0, (fields, fault)


async def test_without_the_business_plan_the_page_says_what_to_do(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    del harbor
    await make_token(owner)
    await runtime.pool.execute("update organizations set plan = 'PRO'")
    shown = await owner.get(PAGE)

    assert "openslot organization plan harbor BUSINESS" in read_page(shown).notices[0]
    assert "Not included in your plan" in read_page(shown).text
    assert "expires" not in read_page(shown).fields
    assert (await owner.post(f"{PAGE}/tokens", data={"name": "Okta", "expires": "never"})).status_code == 403


async def test_another_organizations_token_is_like_none(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await make_token(owner)
    token_id = await runtime.pool.fetchval("select id from scim_tokens")
    await act_as(owner, runtime, harbor.foreign_owner)

    assert (await owner.post(f"{PAGE}/tokens/{token_id}/revoke")).status_code == 404
    assert await runtime.pool.fetchval("select revoked_at from scim_tokens") is None


async def test_the_request_log_is_filtered(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, clock: MovingClock
) -> None:
    del harbor
    provider = Provider(owner, await make_token(owner))
    made = await provider.create("li@harbor.example")
    await provider.send("POST", "/Users", {"userName": "li@harbor.example"})
    await provider.send("GET", "/Schemas")
    clock.now += timedelta(days=2)
    await provider.send("DELETE", f"/Users/{made['id']}")
    rows = {
        "created": "POST /Users</code></td>",
        "refused": "Another user of this organization has this userName",
        "schemas": "GET /Schemas",
        "removed": f"DELETE /Users/{made['id']}",
    }
    token_id = await runtime.pool.fetchval("select id from scim_tokens")
    for query, shown in (
        ("", set(rows)),
        ("method=DELETE", {"removed"}),
        ("status=4", {"refused"}),
        ("status=2&method=POST", {"created"}),
        ("path=schemas", {"schemas"}),
        ("user=LI%40harbor", {"created", "removed"}),
        ("from=2026-03-18", {"removed"}),
        ("to=2026-03-16", {"created", "refused", "schemas"}),
        (f"token={token_id}", set(rows)),
        ("token=01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f", set()),
        ("method=PATCH", set()),
    ):
        text = (await owner.get(f"{LOG}?{query}")).text
        assert {name for name, mark in rows.items() if mark in text} == shown, query
    assert "No request matches" in read_page(await owner.get(f"{LOG}?path=zzz")).text
    for odd in ("before=x", "status=9", "method=%00", "token=x", "user=%F0%9F%98%80"):
        assert (await owner.get(f"{LOG}?{odd}")).status_code == 200
    assert (await owner.get(f"{LOG}?from=x")).status_code == 400


async def test_the_request_log_turns_pages_over_several_tokens(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    for name in ("One", "Two"):
        await make_token(owner, name)
    await runtime.pool.execute(
        """insert into scim_requests (token_id, at, method, path, status)
        select t.id, $1, 'GET', '/Users/' || n, 200
        from generate_series(1, 120) n
        join (select id, row_number() over (order by id) as place from scim_tokens) t on t.place = 1 + n % 2
        order by n""",
        runtime.clock(),
    )
    path: str | None = LOG
    found: list[str] = []
    while path:
        page = (await owner.get(path)).text
        found += re.findall(r"GET /Users/(\d+)", page)
        link = re.search(r'rel="next" href="([^"]+)"', page)
        path = link[1].replace("&amp;", "&") if link else None

    assert found == [str(n) for n in range(120, 0, -1)]
    await act_as(owner, runtime, harbor.foreign_owner)
    assert "GET /Users/" not in (await owner.get(LOG)).text


async def hold_departures(owner: httpx2.AsyncClient, count: int = 8) -> list[str]:
    """Let a provider suspend so many that the brake holds the last."""
    provider = Provider(owner, await make_token(owner))
    made = [(await provider.create(f"u{n}@harbor.example", displayName=f"User {n}"))["id"] for n in range(count)]
    for member_id in made:
        assert (await provider.patch(member_id, SUSPEND)).status_code == 200
    return made


async def test_departures_that_wait_are_shown_and_decided(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, book: Book
) -> None:
    await hold_departures(owner)
    shown = await owner.get(PAGE)
    assert "3 departures wait for your decision" in read_page(shown).headings
    held: list[UUID] = [row["user_id"] for row in await runtime.pool.fetch("select user_id from held_departures")]
    await runtime.pool.execute(
        """insert into held_departures
        select organization_id, $1, held_at, false, $2, 'member' from held_departures limit 1""",
        harbor.member.id,
        harbor.id_of(harbor.member),
    )
    await book()
    one = await owner.get(f"{PAGE}/waiting/{harbor.member.id}")
    assert "Confirm that Mara Lind has left" in read_page(one).text
    assert "Approve: cancel 1 booking<" in (await owner.get(f"{PAGE}/waiting")).text
    assert (await owner.post(f"{PAGE}/waiting/{held[0]}/reject")).headers["location"] == f"{PAGE}?done=rejected"
    assert (await owner.post(f"{PAGE}/waiting/{harbor.member.id}/approve")).status_code == 303
    row = await runtime.pool.fetchrow("select status, cancelled_by from bookings")
    assert row is not None
    assert tuple(row.values()) == ("CANCELLED", "organization")
    assert (await owner.post(f"{PAGE}/waiting/{held[0]}/reject")).status_code == 404
    assert await runtime.pool.fetchval("select disabled_at from users where id = $1", held[0]) is None
    assert (await owner.post(f"{PAGE}/waiting/reject")).status_code == 303

    assert "No departure is waiting" in read_page(await owner.get(f"{PAGE}/waiting")).text
    assert "wait for your decision" not in (await owner.get(PAGE)).text
    assert await runtime.pool.fetchval("select count(*) from change_log where action = 'departure.rejected'") == 3


async def test_another_organizations_departure_is_like_none(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await hold_departures(owner)
    held = await runtime.pool.fetchval("select user_id from held_departures limit 1")
    await act_as(owner, runtime, harbor.foreign_owner)
    for deed in ("approve", "reject"):
        assert (await owner.post(f"{PAGE}/waiting/{held}/{deed}")).status_code == 404
    assert await runtime.pool.fetchval("select count(*) from held_departures") == 3
