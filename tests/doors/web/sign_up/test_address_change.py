"""A user changes the address of the account: password first, then a link to the new address, which works once."""

from contextlib import nullcontext

import httpx2
import pytest

from openslot.app import create_app
from openslot.domains.access import operations as access
from openslot.domains.access.address_changes import LASTS
from openslot.domains.access.jobs import tidy_access
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.invitations import operations as invitations
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import mails, part
from tests.doors.web.conftest import sign_in
from tests.doors.web.sign_up.conftest import NEW, ReadMail, let_provider_manage, path_in
from tests.doors.web.sign_up.support import (
    CHANGE_LINK,
    CHANGE_PAGE,
    MARA,
    TAKEN,
    WANTED,
    add_other,
    address_of,
    ask_for_change,
)
from tests.support.clocks import MovingClock
from tests.support.host import open_session
from tests.support.live import connect, serving
from tests.support.page import read_page
from tests.support.passwords import PASSWORD
from tests.support.statements import CountingPool
from tests.support.two_factor import turn_on


@pytest.fixture
async def link(member: httpx2.AsyncClient, read_mail: ReadMail) -> str:
    """Ask for a new address and find the link in the mail."""
    assert (await ask_for_change(member)).status_code == 303
    return path_in((await read_mail(WANTED))[-1], CHANGE_LINK)


async def test_the_account_page_leads_there(member: httpx2.AsyncClient) -> None:
    assert CHANGE_PAGE in read_page(await member.get("/account")).addresses
    assert "mara@lindqvist.example" in read_page(await member.get(CHANGE_PAGE)).text


async def test_the_link_changes_the_address_and_ends_what_the_former_one_could_open(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, read_mail: ReadMail, link: str
) -> None:
    elsewhere = await open_session(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, user, name="Website")
        harbor = await organizations.add_organization(work, name="Harbor", slug="harbor")
        await add_organization_member(work, harbor, user)
        await invitations.make_invitation(work, harbor, user)
    await member.post("/password/forgot", data={"email": user.email})
    reset = path_in((await read_mail(user.email))[-1], "/password/reset/")

    for statement in (
        """insert into pending_sign_ins (id, user_id, hash, password_mark, created_at, expires_at)
        values (gen_random_uuid(), $1, 'a', 'b', now(), now() + interval '1 hour')""",
        f"""insert into sign_ups
        (id, hash, browser_hash, email, name, zone, locale, password_hash, created_at, expires_at)
        select $1, 'a', 'b', '{WANTED}', 'Li', 'UTC', 'en', 'c', now(), now() + interval '1 day'""",
    ):
        await runtime.pool.execute(statement, user.id)

    shown = await member.get(link)
    assert (shown.status_code, WANTED in read_page(shown).text, await address_of(runtime, user)) == (
        200,
        True,
        user.email,
    )
    changed = await member.post(link)

    assert (changed.status_code, changed.headers["location"]) == (303, "/account?done=email")
    assert await address_of(runtime, user) == WANTED
    cookie = {"cookie": changed.headers["set-cookie"].partition(";")[0]}
    mine = await member.get("/account?done=email", headers=cookie)
    assert (
        mine.status_code,
        "Your email address was changed" in read_page(mine).notices[0],
        WANTED in read_page(mine).text,
    ) == (200, True, True)
    assert (await member.get("/account", headers=elsewhere)).status_code == 303
    assert await runtime.pool.fetchval("select count(*) from sessions") == 1
    for table in ("invitations", "pending_sign_ins", "sign_ups", "password_resets"):
        assert await runtime.pool.fetchval(f"select count(*) from {table}") == 0, table
    assert (await member.get(reset)).status_code == 403
    assert (await member.get("/api/v1/me", headers={"Authorization": f"Bearer {key}"})).json()["email"] == WANTED
    assert (await sign_in(member, user.email)).status_code == 401
    assert (await sign_in(member, WANTED)).status_code == 303
    # Not even if the account gets its former address back.
    await runtime.pool.execute("update users set email = $2 where id = $1", user.id, user.email)
    assert (await member.get(reset)).status_code == 403


async def test_the_former_address_is_told_before_and_after(
    member: httpx2.AsyncClient, user: User, read_mail: ReadMail, link: str
) -> None:
    await member.post(link)
    asked, changed = await read_mail(user.email)

    assert asked["Subject"] == "Someone wants to change the email address of your account"
    assert WANTED in part(asked, "text/plain")
    assert "/password/forgot" in part(asked, "text/plain")
    assert CHANGE_LINK not in part(asked, "text/plain") + part(asked, "text/html")
    assert changed["Subject"] == "The email address of your account was changed"
    assert "organization" not in part(changed, "text/plain")
    assert "except the one where you changed it" in " ".join(part(changed, "text/plain").split())
    assert len(await read_mail(WANTED)) == 1


async def test_what_happened_is_in_the_accounts_log(
    runtime: Runtime, user: User, member: httpx2.AsyncClient, link: str
) -> None:
    await member.post(link)
    rows = await runtime.pool.fetch(
        "select type, actor::json ->> 'kind' as kind from events where tenant_id = $1 order by no desc limit 2", user.id
    )

    assert [tuple(row) for row in rows] == [("user.changed", "session"), ("user.address_change_requested", "session")]


async def test_a_taken_address_gets_the_same_answer_and_its_owner_a_mail_without_a_link(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, read_mail: ReadMail
) -> None:
    await add_other(runtime)
    free, taken = await ask_for_change(member), None
    free_page = (await member.get(CHANGE_PAGE)).text.replace(WANTED, "it")
    taken = await ask_for_change(member, TAKEN.upper())
    taken_page = (await member.get(CHANGE_PAGE)).text.replace(TAKEN.upper(), "it")

    assert {(each.status_code, each.headers["location"]) for each in (free, taken)} == {(303, CHANGE_PAGE)}
    assert free_page == taken_page
    (message,) = await read_mail(TAKEN)
    assert message["Subject"] == "Your address already has an account"
    assert CHANGE_LINK not in part(message, "text/plain") + part(message, "text/html")
    assert user.email not in part(message, "text/plain")
    # The mails that the user can export do not tell either.
    sent = await runtime.pool.fetch("select recipient from mail_messages where host_id = $1", user.id)
    assert {row["recipient"] for row in sent} == {user.email}


async def test_an_address_that_was_taken_meanwhile_is_told_to_whoever_reads_its_mail(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, link: str
) -> None:
    await add_other(runtime, WANTED)
    answer = await member.post(link)

    assert (answer.status_code, "already exists" in read_page(answer).text) == (409, True)
    assert await address_of(runtime, user) == user.email
    assert (await member.get("/account")).status_code == 200


async def test_only_the_owners_session_can_use_the_link(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, password_hash: str, link: str
) -> None:
    other = await open_session(runtime, await add_other(runtime, password_hash=password_hash))

    assert [
        (await member.get(link, headers=other)).status_code,
        (await member.post(link, headers=other)).status_code,
    ] == [403, 403]
    nobody = {"cookie": ""}
    assert (await member.get(link, headers=nobody)).headers["location"] == f"/login?next={link}"
    assert (await member.post(link, headers=nobody)).status_code in {303, 403}
    assert await address_of(runtime, user) == user.email


async def test_a_link_works_once_and_expires(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, link: str
) -> None:
    clock.now += LASTS
    assert [(await member.get(link)).status_code, (await member.post(link)).status_code] == [403, 403]
    clock.pass_time(seconds=-1)
    assert (await member.get(link)).status_code == 200
    first = await member.post(link)
    again = await member.post(link, headers=await open_session(runtime, user))

    assert (first.status_code, again.status_code) == (303, 403)
    assert "already used" in read_page(again).text


@pytest.mark.parametrize("how", ["withdrawn", "replaced", "password", "address", "managed"])
async def test_a_link_ends_with_what_it_was_asked_for(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, password_hash: str, link: str, how: str
) -> None:
    if how == "withdrawn":
        answer = await member.post(f"{CHANGE_PAGE}/withdraw")
        assert answer.headers["location"] == f"{CHANGE_PAGE}?done=withdrawn"
        assert WANTED not in (await member.get(CHANGE_PAGE)).text
    elif how == "replaced":
        await ask_for_change(member, "mara@third.example")
    elif how == "managed":
        await let_provider_manage(runtime, user)
    else:
        async with runtime.transaction(OPERATOR) as work:
            if how == "password":
                await access.give_password(work, user, password_hash.replace(password_hash[-1], "x"))
            else:
                await accounts.change_email(work, user, "mara@fourth.example")
    before = await address_of(runtime, user)
    answer = await member.post(link, headers=await open_session(runtime, user))

    assert (answer.status_code, await address_of(runtime, user)) == (409 if how == "managed" else 403, before)


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"email": ""}, "Enter the new email address"),
        ({"email": "not an address"}, "Is not a valid email address"),
        ({"email": "<script>alert(1)</script>"}, "Is not a valid email address"),
        ({"email": MARA.upper()}, "Is already your address"),
        ({"current": ""}, "Enter your current password"),
        ({"current": "a wrong password"}, "Is not your current password"),
    ],
)
async def test_what_is_wrong_is_told_at_its_field(
    member: httpx2.AsyncClient, runtime: Runtime, sent: dict[str, str], says: str
) -> None:
    answer = await member.post(CHANGE_PAGE, data={"email": WANTED, "current": PASSWORD, **sent})

    assert (answer.status_code, says in read_page(answer).faults.values()) == (400, True)
    assert "<script>alert" not in answer.text
    assert await runtime.pool.fetchval("select count(*) from address_changes") == 0


async def test_with_two_factor_authentication_a_code_is_needed(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    app = await turn_on(runtime, user)
    form = {"email": WANTED, "current": PASSWORD}
    codes = [(await member.post(CHANGE_PAGE, data={**form, **more})).status_code for more in ({}, {"code": "000000"})]
    right = await member.post(CHANGE_PAGE, data={**form, "code": app.code(runtime)})

    assert "code" in read_page(await member.get(CHANGE_PAGE)).fields
    assert (codes, right.status_code) == ([400, 400], 303)


async def test_an_account_without_a_password_is_told_to_choose_one(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await runtime.pool.execute("update users set password_hash = null where id = $1", user.id)
    shown, sent = await member.get(CHANGE_PAGE), await ask_for_change(member)

    assert "/password/forgot" in read_page(shown).addresses
    assert (sent.status_code, "no password yet" in read_page(sent).notices[0]) == (409, True)


@pytest.mark.parametrize("role", [Role.MEMBER, Role.ADMIN, Role.OWNER])
async def test_a_user_whose_address_a_provider_manages_is_told_so_unless_they_own_the_organization(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, role: Role
) -> None:
    await let_provider_manage(runtime, user)
    await runtime.pool.execute("update memberships set role = $1", role)
    shown, sent = await member.get(CHANGE_PAGE), await ask_for_change(member)

    assert ("Harbor manages your account and its email address" in shown.text) == (role is not Role.OWNER)
    assert await runtime.pool.fetchval("select count(*) from address_changes") == (role is Role.OWNER)
    assert (sent.status_code == 303) == (role is Role.OWNER)


async def test_three_in_an_hour_and_ten_in_a_day(member: httpx2.AsyncClient, clock: MovingClock) -> None:
    counts = []
    for _ in range(5):
        answers = [(await ask_for_change(member, f"m{n}@elsewhere.example")).status_code for n in range(4)]
        counts.append(answers.count(303))
        clock.pass_time(hours=1, seconds=1)

    assert counts == [3, 3, 3, 1, 0]


async def test_only_the_hash_of_a_link_is_stored_and_not_for_long(
    runtime: Runtime, clock: MovingClock, link: str
) -> None:
    token = link.removeprefix(CHANGE_LINK)
    row = await runtime.pool.fetchrow("select * from address_changes")

    assert row is not None
    assert row["hash"] == fingerprint(token)
    kept = [
        await runtime.pool.fetch(f"select t::text from {table} t") for table in ("events", "effects", "address_changes")
    ]
    assert token not in str(kept)
    assert WANTED not in str(kept[:2])
    clock.now += LASTS * 2
    await tidy_access(runtime.work(OPERATOR))
    assert await runtime.pool.fetchval("select count(*) from address_changes") == 0


async def test_the_mail_is_not_sent_once_the_change_is_withdrawn(
    member: httpx2.AsyncClient, runtime: Runtime, read_mail: ReadMail
) -> None:
    await ask_for_change(member)
    await member.post(f"{CHANGE_PAGE}/withdraw")

    assert await read_mail(WANTED) == []
    assert await mails(runtime) == []


async def test_pages_behind_the_link_tell_their_address_to_nobody(member: httpx2.AsyncClient, link: str) -> None:
    for answer in (await member.get(link), await member.get(f"{CHANGE_LINK}wrong")):
        assert (answer.headers["referrer-policy"], answer.headers["cache-control"]) == ("same-origin", "no-store")


async def test_a_new_password_stops_a_change_that_somebody_else_has_asked_for(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, read_mail: ReadMail, link: str
) -> None:
    await member.post("/password/forgot", data={"email": user.email})
    reset = path_in((await read_mail(user.email))[-1], "/password/reset/")
    await member.post(reset, data={"password": NEW})

    assert (await member.post(link, headers=await open_session(runtime, user))).status_code == 403
    assert await address_of(runtime, user) == user.email


async def test_the_page_costs_no_more_than_five_statements(
    settings: Settings, clock: MovingClock, runtime: Runtime, user: User
) -> None:
    session = await open_session(runtime, user)
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings, clock=clock)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url, headers=session) as client:
        await client.get(CHANGE_PAGE)
        pool.asked.clear()
        answer = await client.get(CHANGE_PAGE)

    assert (answer.status_code, len(pool.asked)) == (200, 5), pool.asked
