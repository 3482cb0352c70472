"""Deleting an organization: the page says what happens, the owner proves who it is, and members keep what is theirs."""

import httpx2
import msgspec

from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members.operations import get_member
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import store
from openslot.domains.people.departures import suspend
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages, part
from tests.doors.web.organization.conftest import Harbor, act_as, add_user, join
from tests.doors.web.organization.driving import set_stage
from tests.doors.web.organization.support import DELETE_PAGE, SURE, is_there
from tests.support.host import Book
from tests.support.name_server import FakeResolver
from tests.support.page import read_page
from tests.support.provisioning import Provider, work_ahead
from tests.support.two_factor import turn_on

# Every table that knows an organization by its id.
TABLES = """
select table_name from information_schema.columns where table_schema = 'public' and column_name = 'organization_id'
order by table_name"""


async def test_the_page_says_what_happens(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book
) -> None:
    empty = (await owner.get(DELETE_PAGE)).text
    await set_stage(runtime, harbor, resolver, book)
    shown = (await owner.get(DELETE_PAGE)).text

    assert "3 members leave the organization and lose its plan." in empty
    assert not any(word in empty for word in ("suspended", "invitation is withdrawn", "SCIM token", "departure"))
    assert "harbor.example" in empty
    assert "6 members leave the organization and lose its plan." in shown
    assert "2 of them are suspended." in shown
    assert "1 invitation is withdrawn." in shown
    assert "1 SCIM token stops working at once." in shown
    assert "1 departure that waits for a decision is approved." in shown
    assert "second.example" not in shown


async def test_nothing_of_the_organization_is_left_and_members_keep_what_is_theirs(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book
) -> None:
    await book()
    await set_stage(runtime, harbor, resolver, book)
    users = await runtime.pool.fetch("select email from users")
    answer = await owner.post(DELETE_PAGE, data=SURE)
    left = {
        row["table_name"]: await runtime.pool.fetchval(
            f"select count(*) from {row['table_name']} where organization_id = $1", harbor.organization.id
        )
        for row in await runtime.pool.fetch(TABLES)
    }

    assert answer.headers["location"] == "/?done=organization-deleted"
    assert not await is_there(runtime)
    assert await is_there(runtime, "beacon")
    assert len(left) > 8
    # How many invitations people were sent is counted for a week, whatever becomes of the organization.
    assert {table for table, count in left.items() if count} == {"sent_invitations"}
    gone = {row["email"] for row in users} - {
        row["email"] for row in await runtime.pool.fetch("select email from users")
    }
    assert [email.partition("-")[0] for email in gone] == ["invited"]
    assert await runtime.pool.fetchval("select status from bookings") == "CONFIRMED"
    assert (await owner.get("/mara")).status_code == 200
    home = await owner.get("/?done=organization-deleted")
    assert "The organization was deleted." in read_page(home).notices
    assert "/organization/members" not in read_page(home).addresses
    assert (await owner.get("/organization")).status_code == 404


async def test_the_deletion_is_told_to_webhooks_the_log_and_those_who_looked_after_it(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await owner.post(DELETE_PAGE, data=SURE)
    events = await runtime.pool.fetch("select type, fact::text as fact from events order by no")
    (line,) = await runtime.pool.fetch("select * from change_log")
    await act_as(owner, runtime, harbor.platform)
    shown = (await owner.get("/admin/log")).text
    await work_ahead(runtime)

    assert [row["type"] for row in events][-4:] == ["member.removed"] * 3 + ["organization.deleted"]
    fact = msgspec.json.decode(events[-1]["fact"])
    assert (fact["slug"], fact["members"], fact["domains"]) == ("harbor", 3, ["harbor.example"])
    assert (line["scope"], line["action"], line["actor_email"]) == (
        "platform",
        "organization.deleted",
        harbor.owner.email,
    )
    assert msgspec.json.decode(line["before"]) == {
        "name": "Harbor",
        "slug": "harbor",
        "plan": "BUSINESS",
        "members": 3,
        "domains": "harbor.example",
    }
    assert "Organization deleted" in shown
    for person, count in ((harbor.owner, 1), (harbor.admin, 1), (harbor.member, 0)):
        found = await messages(runtime, person.email)
        assert len(found) == count, person.email
        for message in found:
            assert message["subject"] == "The organization Harbor was deleted"
            assert "Olga Lind deleted it." in part(message, "text/plain")


async def test_members_lose_the_plan_and_tokens_stop_at_once(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    made = await owner.post("/organization/provisioning/tokens", data={"name": "Okta", "expires": "never"})
    provider = Provider(owner, "svc_scim_" + made.text.partition("svc_scim_")[2].partition("<")[0])
    assert (await provider.send("GET", "/Users")).status_code == 200
    assert await plan_of(runtime, harbor.member) is Plan.BUSINESS
    await owner.post(DELETE_PAGE, data=SURE)

    assert (await provider.send("GET", "/Users")).status_code == 401
    assert await plan_of(runtime, harbor.member) is Plan.FREE


async def plan_of(runtime: Runtime, user: User) -> Plan:
    async with runtime.transaction(OPERATOR) as work:
        return (await accounts.get_user(work, user.id)).effective_plan


async def test_domains_and_the_short_name_are_free(owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> None:
    await owner.post(DELETE_PAGE, data=SURE)
    await act_as(owner, runtime, harbor.nobody)
    await owner.post("/organization/new", data={"name": "Harbor", "slug": "harbor"})

    answer = await owner.post("/organization/domains", data={"domain": "harbor.example"})
    assert answer.status_code == 303


async def test_departures_that_wait_are_approved(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, book: Book
) -> None:
    await book()
    async with runtime.transaction(OPERATOR) as work:
        member = await get_member(work, harbor.organization.id, harbor.id_of(harbor.member))
        await suspend(work, msgspec.structs.replace(harbor.organization, keeps_bookings=True), member, is_leaving=True)
        await store.insert_held(work.db, member, removed=False, now=work.now)
    shown = (await owner.get(DELETE_PAGE)).text
    await owner.post(DELETE_PAGE, data=SURE)
    (line,) = await runtime.pool.fetch("select after from change_log")

    assert "1 departure that waits for a decision is approved." in shown
    assert "1 upcoming booking will be cancelled, and the invitee will be notified by email." in shown
    assert await runtime.pool.fetchval("select status from bookings") == "CANCELLED"
    assert msgspec.json.decode(line["after"]) == {"cancelled_bookings": 1}


async def test_a_suspended_account_stays_closed_until_another_that_suspended_it_opens_it(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, password_hash: str
) -> None:
    both = await add_user(runtime, "iris", password_hash, email="iris@elsewhere.example")
    alone = harbor.member
    ids = [await join(runtime, harbor.organization, both), await join(runtime, harbor.other, both)]
    for organization, member_id in (
        (harbor.organization, ids[0]),
        (harbor.other, ids[1]),
        (harbor.organization, harbor.id_of(alone)),
    ):
        async with runtime.transaction(OPERATOR) as work:
            await suspend(work, organization, await get_member(work, organization.id, member_id), is_leaving=True)
    await owner.post(DELETE_PAGE, data=SURE)
    closed = [await is_closed(runtime, user) for user in (both, alone)]
    await act_as(owner, runtime, harbor.foreign_owner)
    await owner.post(f"/organization/members/{ids[1]}/reinstate")
    await act_as(owner, runtime, harbor.platform)
    await owner.post(f"/admin/users/{alone.id}/enable")

    assert closed == [True, True]
    assert [await is_closed(runtime, user) for user in (both, alone)] == [False, False]


async def is_closed(runtime: Runtime, user: User) -> bool:
    return bool(await runtime.pool.fetchval("select disabled_at is not null from users where id = $1", user.id))


WRONG_ANSWERS: list[tuple[dict[str, str], str, str]] = [
    ({"name": ""}, "name", "Must be the name of the organization"),
    ({"name": "harbor"}, "name", "Must be the name of the organization"),
    ({"name": "Beacon"}, "name", "Must be the name of the organization"),
    ({"name": "x" * 201}, "name", ""),
    ({"name": "Har\nbor"}, "name", ""),
    ({"password": ""}, "password", ""),
    ({"password": "wrong"}, "password", ""),
    ({"password": "x" * 201}, "password", ""),
]


async def test_a_wrong_answer_is_told_at_its_field_and_deletes_nothing(
    owner: httpx2.AsyncClient, runtime: Runtime
) -> None:
    for sent, field, fault in WRONG_ANSWERS:
        answer = await owner.post(DELETE_PAGE, data={**SURE, **sent})

        assert answer.status_code == 400, (sent, field)
        assert read_page(answer).faults[field].startswith(fault), (sent, field)
        assert await is_there(runtime), (sent, field)


async def test_with_a_second_factor_a_code_is_needed_too(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    phone = await turn_on(runtime, harbor.owner)
    assert "code" in read_page(await owner.get(DELETE_PAGE)).fields
    for code in ("", "000000"):
        assert read_page(await owner.post(DELETE_PAGE, data={**SURE, "code": code})).faults.keys() == {"code"}
    assert await is_there(runtime)

    assert (await owner.post(DELETE_PAGE, data={**SURE, "code": phone.code(runtime)})).status_code == 303
    assert not await is_there(runtime)


async def test_without_a_password_one_has_to_be_set_first(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, password_hash: str
) -> None:
    await runtime.pool.execute("update users set password_hash = null where id = $1", harbor.owner.id)
    for answer in (await owner.get(DELETE_PAGE), await owner.post(DELETE_PAGE, data=SURE)):
        assert "Your account has no password. Set one first" in read_page(answer).text
        assert "password" not in read_page(answer).fields
    assert await is_there(runtime)

    await runtime.pool.execute("update users set password_hash = $2 where id = $1", harbor.owner.id, password_hash)
    assert (await owner.post(DELETE_PAGE, data=SURE)).status_code == 303


async def test_guessing_is_limited(owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> None:
    answers = [await owner.post(DELETE_PAGE, data={**SURE, "password": f"guess {place}"}) for place in range(12)]

    assert answers[-1].status_code == 429
    assert (await owner.post(DELETE_PAGE, data=SURE)).status_code == 429
    assert await is_there(runtime)


async def test_only_owners_see_the_way_to_it(client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> None:
    for user, is_owner in ((harbor.owner, True), (harbor.admin, False)):
        await act_as(client, runtime, user)
        assert ('href="/organization/delete"' in (await client.get("/organization/settings")).text) is is_owner


async def test_the_form_deletes_the_organization_that_it_was_shown_for(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    await join(runtime, harbor.other, harbor.owner, Role.OWNER)
    named = {"organization": str(harbor.other.id)}
    refused = await owner.post(DELETE_PAGE, data={**SURE, **named})
    assert refused.status_code == 400

    await owner.post(DELETE_PAGE, data={**SURE, **named, "name": "Beacon"})
    assert [await is_there(runtime, slug) for slug in ("harbor", "beacon")] == [True, False]


async def test_an_administrator_of_the_platform_can_do_it_too(
    client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book
) -> None:
    await set_stage(runtime, harbor, resolver, book)
    await act_as(client, runtime, harbor.platform)
    path = "/admin/organizations/harbor"
    assert f"{path}/delete" in read_page(await client.get(path)).addresses
    shown = (await client.get(f"{path}/delete")).text
    assert "6 members leave the organization" in shown
    assert "/organization/provisioning/waiting" not in shown
    for wrong in ({"name": "Beacon"}, {"password": "wrong"}):
        assert (await client.post(f"{path}/delete", data={**SURE, **wrong})).status_code == 400
    assert await is_there(runtime)
    answer = await client.post(f"{path}/delete", data=SURE)
    await work_ahead(runtime)

    assert answer.headers["location"] == "/admin/organizations?done=deleted"
    assert read_page(await client.get(answer.headers["location"])).notices == ["The organization was deleted."]
    assert not await is_there(runtime)
    (message,) = [each for each in await messages(runtime, harbor.owner.email) if "deleted" in str(each["subject"])]
    assert "An administrator of the platform deleted it." in part(message, "text/plain")
