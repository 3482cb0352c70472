"""A forgotten password is replaced by a link in a mail, which works once, for an hour, for the owner alone."""

import asyncio
from datetime import timedelta

import httpx2
import pytest

from openslot.domains.access import operations as access
from openslot.domains.access.errors import InvalidCredentials, InvalidResetLink
from openslot.domains.access.jobs import tidy_access
from openslot.domains.access.models import CredentialKind
from openslot.domains.access.resets import operations as resets
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import mails, part
from tests.doors.web.conftest import sign_in
from tests.doors.web.sign_up.conftest import NEW, ReadMail, let_provider_manage, path_in, visiting
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import open_session
from tests.support.page import read_page
from tests.support.passwords import PASSWORD

LINK = "/password/reset/"
SENT = (303, "/password/forgot?done=sent")


async def ask(client: httpx2.AsyncClient, email: str) -> httpx2.Response:
    return await client.post("/password/forgot", data={"email": email})


@pytest.fixture
async def link(client: httpx2.AsyncClient, user: User, read_mail: ReadMail) -> str:
    """Ask for a link and find it in the mail."""
    await ask(client, user.email)
    return path_in((await read_mail(user.email))[-1], LINK)


async def stored_hash(runtime: Runtime, user: User) -> str:
    found: str = await runtime.pool.fetchval("select password_hash from users where id = $1", user.id)
    return found


async def test_the_sign_in_page_leads_there(client: httpx2.AsyncClient, user: User) -> None:
    assert "/password/forgot" in read_page(await client.get("/login")).addresses
    assert "Forgot your password?" in read_page(await client.get("/password/forgot")).headings


async def test_the_link_replaces_the_password_ends_every_session_and_leaves_the_keys(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, read_mail: ReadMail, link: str
) -> None:
    elsewhere = await open_session(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        key, _ = await access.create_api_key(work, user, name="Website")
    shown = await client.get(link)
    changed = await client.post(link, data={"password": NEW})

    assert (shown.status_code, user.email in read_page(shown).text) == (200, True)
    assert (changed.status_code, changed.headers["location"]) == (303, "/login?done=password&next=/settings/access")
    assert "Your password was changed" in read_page(await client.get(changed.headers["location"])).notices[0]
    assert (await client.get("/account", headers=elsewhere)).headers["location"] == "/login?next=/account"
    assert "set-cookie" not in changed.headers
    assert (await sign_in(client, user.email)).status_code == 401
    assert (await sign_in(client, user.email, NEW)).status_code == 303
    assert (await client.get("/api/v1/me", headers={"Authorization": f"Bearer {key}"})).status_code == 200
    async with runtime.transaction(OPERATOR) as work:
        (kept,) = await access.list_credentials(work, CredentialKind.API_KEY, user.id)
    assert kept.revoked_at is None
    *_, notice = await read_mail(user.email)
    assert notice["Subject"] == "Your password was changed"
    assert "with the link we emailed you" in part(notice, "text/plain").replace("\n", " ")
    assert "16 Mar, 08:00" in part(notice, "text/plain")


async def test_the_mail_is_in_the_users_language_and_the_products_look(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, read_mail: ReadMail
) -> None:
    await runtime.pool.execute("update users set locale = 'de' where id = $1", user.id)
    await ask(client, user.email)
    (message,) = await read_mail(user.email)

    assert message["Subject"] == "Neues Passwort wählen"
    assert message["From"].addresses[0].display_name == "Openslot"
    assert path_in(message, LINK) in part(message, "text/html")
    assert "http" not in message["Subject"]


async def test_known_and_unknown_addresses_get_the_same_answer(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, read_mail: ReadMail
) -> None:
    answers = [await ask(client, email) for email in (user.email, "nobody@lindqvist.example", user.email.upper())]
    pages = {(await client.get(answer.headers["location"])).text for answer in answers}

    assert {(answer.status_code, answer.headers["location"]) for answer in answers} == {SENT}
    assert {answer.headers.get("set-cookie") for answer in answers} == {None}
    assert len(pages) == 1
    # Until the worker has looked, nothing in the database differs either.
    assert await runtime.pool.fetchval("select count(*) from password_resets") == 0
    assert await runtime.pool.fetchval("select count(*) from effects where reaction = 'mail.reset_password'") == 2
    assert len(await read_mail(user.email)) == 1
    assert [each.recipient for each in await mails(runtime)] == [user.email]


async def test_a_link_works_once(client: httpx2.AsyncClient, user: User, link: str) -> None:
    await client.post(link, data={"password": NEW})
    again = await client.post(link, data={"password": "yet another password"})

    assert (again.status_code, (await client.get(link)).status_code) == (403, 403)
    assert "already used" in read_page(again).text
    assert "/password/forgot" in read_page(again).addresses
    assert (await sign_in(client, user.email, NEW)).status_code == 303


async def test_looking_at_a_link_changes_nothing(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, link: str
) -> None:
    before = await stored_hash(runtime, user)
    for _ in range(3):
        assert (await client.get(link)).status_code == 200
        assert (await client.head(link)).status_code == 200

    assert await stored_hash(runtime, user) == before
    assert (await client.post(link, data={"password": NEW})).status_code == 303


async def test_a_link_expires_after_an_hour(client: httpx2.AsyncClient, clock: MovingClock, link: str) -> None:
    clock.pass_time(minutes=59, seconds=59)
    assert (await client.get(link)).status_code == 200
    clock.pass_time(seconds=1)
    assert (await client.get(link)).status_code == 403
    assert (await client.post(link, data={"password": NEW})).status_code == 403


async def test_only_the_hash_of_a_link_is_stored(runtime: Runtime, link: str) -> None:
    token = link.removeprefix(LINK)
    row = await runtime.pool.fetchrow("select * from password_resets")

    assert row is not None
    assert row["hash"] == fingerprint(token)
    assert token not in str(dict(row))
    assert token not in str(await runtime.pool.fetch("select payload, key, last_error from effects"))


async def test_what_was_typed_is_sealed_because_it_may_be_anyones_address(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, read_mail: ReadMail
) -> None:
    for email in (user.email, "nobody@lindqvist.example"):
        await ask(client, email)
    await read_mail(user.email)
    kept = str([dict(row) for row in await runtime.pool.fetch("select * from effects")])

    assert "lindqvist" not in kept
    assert "resets.no_account" in kept


async def test_a_mail_that_comes_too_late_is_not_sent(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, read_mail: ReadMail
) -> None:
    await ask(client, user.email)
    clock.pass_time(hours=1)

    assert await read_mail(user.email) == []
    assert await runtime.pool.fetchval("select last_error from effects where reaction = 'mail.reset_password'") == (
        "mail.expired"
    )


async def test_a_change_of_the_password_makes_the_link_invalid(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, password_hash: str, link: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await access.give_password(work, user, password_hash.replace(password_hash[-1], "x"))

    assert (await client.post(link, data={"password": NEW})).status_code == 403


async def test_a_link_sent_to_an_address_that_the_account_no_longer_has_is_invalid(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, link: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.change_email(work, user, "mara@elsewhere.example")

    assert (await client.get(link)).status_code == 403


async def test_a_disabled_user_gets_no_mail_and_a_link_from_before_does_not_work(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, read_mail: ReadMail, link: str
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, user)
    await ask(client, user.email)

    assert (await client.post(link, data={"password": NEW})).status_code == 403
    assert len(await read_mail(user.email)) == 1


async def test_a_user_whom_an_identity_provider_manages_is_told_to_ask_the_organization(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, read_mail: ReadMail, link: str
) -> None:
    await let_provider_manage(runtime, user)
    answer = await ask(client, user.email)
    *_, message = await read_mail(user.email)

    assert (answer.status_code, answer.headers["location"]) == SENT
    assert message["Subject"] == "Your organization manages your password"
    assert "Harbor manages your account" in part(message, "text/plain").replace("\n", " ")
    assert LINK not in part(message, "text/html")
    assert (await client.get(link)).status_code == 403
    assert (await client.post(link, data={"password": NEW})).status_code == 403


async def test_an_account_is_sent_three_links_an_hour_and_ten_a_day(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    counts = []
    for _ in range(5):
        for _ in range(5):
            assert (await ask(client, user.email)).status_code == 303
            await work_off(runtime, clock)
        counts.append(len(await mails(runtime, user.email)))
        clock.pass_time(hours=1, seconds=1)

    assert counts == [3, 6, 9, 10, 10]


async def test_accounts_of_one_mailbox_are_sent_three_links_an_hour_together(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    tagged = user.email.replace("@", "+{}@")
    async with runtime.transaction(OPERATOR) as work:
        for number in range(5):
            wanted = UserWanted(email=tagged.format(number), name="Mara", username=f"mara{number}")
            await accounts.add_user(work, wanted)
    for number in range(5):
        assert (await ask(client, tagged.format(number))).status_code == 303
        await work_off(runtime, clock)

    assert [len(await mails(runtime, tagged.format(number))) for number in range(5)] == [1, 1, 1, 0, 0]


async def test_every_link_of_the_last_hour_works_so_that_nobody_can_make_anothers_invalid(
    client: httpx2.AsyncClient, user: User, read_mail: ReadMail
) -> None:
    for _ in range(2):
        await ask(client, user.email)
        await read_mail(user.email)
    first, second = [path_in(message, LINK) for message in await read_mail(user.email)]

    assert (await client.post(first, data={"password": NEW})).status_code == 303
    assert (await client.get(second)).status_code == 403


async def test_one_address_asks_five_times_a_minute(settings: Settings, clock: MovingClock, user: User) -> None:
    async with visiting(settings, clock, limit_failed_auth=5) as client:
        codes = [(await ask(client, f"guess{n}@lindqvist.example")).status_code for n in range(6)]
        guess = await client.post(f"{LINK}wrong", data={"password": NEW})

    assert codes == [303] * 5 + [429]
    assert guess.status_code == 429


WRONG_ADDRESSES: list[tuple[dict[str, str], str]] = [
    ({"email": ""}, "Enter your email address"),
    ({"email": "not an address"}, "Is not a valid email address"),
    ({"email": "a@b.example", "website": "spam"}, "Must be empty"),
    ({"email": f"{'x' * 250}@b.example"}, "Is not a valid email address"),
    ({"email": "<script>alert(1)</script>"}, "Is not a valid email address"),
]


async def test_a_wrong_address_is_told_at_its_field(client: httpx2.AsyncClient, runtime: Runtime) -> None:
    for sent, says in WRONG_ADDRESSES:
        answer = await client.post("/password/forgot", data=sent)

        assert (answer.status_code, says in read_page(answer).faults.values()) == (400, True), (sent, says)
        assert "<script>alert" not in answer.text, (sent, says)
        assert (
            await runtime.pool.fetchval("select count(*) from effects where reaction = 'mail.reset_password'") == 0
        ), (sent, says)


async def test_a_weak_password_is_told_at_its_field_and_uses_nothing_up(client: httpx2.AsyncClient, link: str) -> None:
    for password, says in (("", "Choose a password"), ("short", "at least 10"), ("x" * 201, "200")):
        answer = await client.post(link, data={"password": password})

        assert (answer.status_code, says in read_page(answer).faults["password"]) == (400, True), password
    assert (await client.post(link, data={"password": NEW})).status_code == 303


async def test_the_page_tells_its_address_to_nobody(client: httpx2.AsyncClient, link: str) -> None:
    for answer in (await client.get(link), await client.get(f"{LINK}wrong")):
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"


async def test_another_site_can_not_send_the_form(client: httpx2.AsyncClient, link: str) -> None:
    answer = await client.post(link, data={"password": NEW}, headers={"origin": "https://evil.example"})

    assert answer.status_code == 403
    assert (await client.get(link)).status_code == 200


async def test_of_two_uses_of_a_link_at_once_one_counts(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, link: str
) -> None:
    passwords = [f"password number {n}" for n in range(4)]
    answers = await asyncio.gather(*(client.post(link, data={"password": each}) for each in passwords))
    codes = [answer.status_code for answer in answers]
    (winner,) = [password for password, code in zip(passwords, codes, strict=True) if code == 303]

    assert sorted(codes) == [303, 403, 403, 403]
    assert (await sign_in(client, user.email, winner)).status_code == 303
    assert (
        await runtime.pool.fetchval("select count(*) from events where type = 'user.password_changed'"),
        await runtime.pool.fetchval("select count(*) from password_resets"),
    ) == (1, 0)


async def test_a_reset_against_a_change_of_the_password_leaves_one_of_both(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, link: str
) -> None:
    session = await open_session(runtime, user)
    form = {"current": PASSWORD, "password": "chosen on the account page"}
    reset, change = await asyncio.gather(
        client.post(link, data={"password": NEW}), client.post("/account/password", data=form, headers=session)
    )

    was_reset = reset.headers.get("location", "").startswith("/login?done=password")
    # A change that begins after the reset finds its session ended, and is redirected to the sign-in.
    was_changed = change.headers.get("location") == "/account?done=password"
    assert sorted((was_reset, was_changed)) == [False, True]
    right, wrong = (NEW, form["password"]) if was_reset else (form["password"], NEW)
    # A change begins a session, and who is signed in is not asked for a password.
    client.cookies.clear()
    assert (await sign_in(client, user.email, wrong)).status_code == 401
    assert (await sign_in(client, user.email, right)).status_code == 303
    assert await runtime.pool.fetchval("select count(*) from events where type = 'user.password_changed'") == 1


async def test_a_change_of_the_password_after_a_reset_asks_to_sign_in(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, link: str
) -> None:
    session = await open_session(runtime, user)
    form = {"current": PASSWORD, "password": "chosen on the account page"}
    await client.post(link, data={"password": NEW})
    late = await client.post("/account/password", data=form, headers=session)

    assert (late.status_code, late.headers["location"]) == (303, "/login?next=/")
    assert (await sign_in(client, user.email, form["password"])).status_code == 401


async def test_a_sign_in_with_the_old_password_does_not_outlive_the_reset(
    runtime: Runtime, user: User, password_hash: str, link: str
) -> None:
    work = runtime.work(PUBLIC)
    await resets.reset_password(work, link.removeprefix(LINK), new=NEW)
    with pytest.raises(InvalidCredentials):
        await access.let_in(work, user, password_hash=password_hash, user_agent="test")

    assert await runtime.pool.fetchval("select count(*) from sessions") == 0


async def test_a_link_is_refused_by_the_verb_too(runtime: Runtime) -> None:
    for token in ("", "wrong", "x" * 5000, "\u0000"):
        with pytest.raises(InvalidResetLink):
            await resets.reset_password(runtime.work(PUBLIC), token, new=NEW)


async def test_links_are_removed_a_day_after_they_expired(runtime: Runtime, clock: MovingClock, link: str) -> None:
    clock.now += resets.RESET_LASTS + timedelta(hours=23)
    await tidy_access(runtime.work(OPERATOR))
    assert await runtime.pool.fetchval("select count(*) from password_resets") == 1
    clock.pass_time(hours=1)
    await tidy_access(runtime.work(OPERATOR))
    assert await runtime.pool.fetchval("select count(*) from password_resets") == 0


async def test_a_change_on_the_account_page_is_told_by_mail_too(
    member: httpx2.AsyncClient, user: User, read_mail: ReadMail
) -> None:
    await member.post("/account/password", data={"current": PASSWORD, "password": NEW})
    (notice,) = await read_mail(user.email)

    assert notice["Subject"] == "Your password was changed"
    assert "except the one where you changed it" in part(notice, "text/plain").replace("\n", " ")
