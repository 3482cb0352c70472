"""Anyone may sign up where the operator allows it; the account is opened by the link in the mail, and tells nobody."""

import asyncio

import httpx2
import pytest

from openslot.domains.access.jobs import tidy_access
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts import sign_ups
from openslot.domains.accounts.models import User
from openslot.doors.web.sign_up import FIRST_PAGE
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import load_settings
from openslot.platform.core.errors import StartupError
from openslot.platform.core.ids import fingerprint
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import mails, part
from tests.doors.web.conftest import sign_in
from tests.doors.web.sign_up.conftest import NEW, ReadMail, path_in, visiting
from tests.doors.web.sign_up.support import EMAIL, FORM, LINK, count, send
from tests.support.clocks import MovingClock
from tests.support.page import read_page

SENT = (303, "/signup?done=sent")


@pytest.fixture
async def link(client: httpx2.AsyncClient, read_mail: ReadMail) -> str:
    """Sign up and find the link in the mail."""
    await send(client)
    return path_in((await read_mail(EMAIL))[-1], LINK)


async def test_the_link_opens_an_account_with_all_a_host_needs(
    client: httpx2.AsyncClient, runtime: Runtime, link: str
) -> None:
    assert await count(runtime, "users") == 0
    shown = await client.get(link)
    opened = await client.post(link)

    assert "Noor Haddad" in read_page(shown).text
    assert "password" not in read_page(shown).fields
    assert (opened.status_code, opened.headers["location"]) == (303, FIRST_PAGE)
    assert (await client.get("/account")).status_code == 200
    user = await accounts.get_user_by_email(runtime.work(OPERATOR), EMAIL)
    assert (user.name, user.username, user.zone, user.locale) == ("Noor Haddad", "noor-haddad", "Asia/Amman", "en")
    assert (user.is_admin, str(user.plan)) == (False, "FREE")
    assert (await client.get("/noor-haddad/30min")).status_code == 200
    client.cookies.clear()
    assert (await sign_in(client, EMAIL, NEW)).status_code == 303
    assert await count(runtime, "sign_ups") == 0


async def test_looking_at_the_link_opens_nothing(client: httpx2.AsyncClient, runtime: Runtime, link: str) -> None:
    for _ in range(3):
        assert (await client.get(link)).status_code == 200
        assert (await client.head(link)).status_code == 200

    assert await count(runtime, "users") == 0


async def test_a_used_link_explains_and_leads_on(client: httpx2.AsyncClient, runtime: Runtime, link: str) -> None:
    await client.post(link)
    client.cookies.clear()
    again, looked_at = await client.post(link), await client.get(link)

    assert (again.status_code, looked_at.status_code) == (403, 403)
    assert "already used" in read_page(again).text
    assert "/signup" in read_page(again).addresses
    assert "set-cookie" not in again.headers
    assert await count(runtime, "users") == 1


async def test_a_link_expires_after_a_day(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, link: str
) -> None:
    clock.pass_time(hours=23, minutes=59)
    assert (await client.get(link)).status_code == 200
    clock.pass_time(minutes=1)
    assert (await client.get(link)).status_code == 403
    assert (await client.post(link)).status_code == 403
    await tidy_access(runtime.work(OPERATOR))
    assert await count(runtime, "sign_ups") == 0


async def test_only_the_hash_of_a_link_is_stored(runtime: Runtime, link: str) -> None:
    token = link.removeprefix(LINK)
    row = await runtime.pool.fetchrow("select * from sign_ups")
    facts = await runtime.pool.fetch("select fact, public from events")

    assert row is not None
    assert row["hash"] == fingerprint(token)
    assert token not in str(dict(row)) + str(facts)
    assert NEW not in str(dict(row))
    assert EMAIL not in str(facts)


async def test_nothing_tells_whether_an_address_has_an_account(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, read_mail: ReadMail
) -> None:
    answers = [await send(client, email=email) for email in (user.email, EMAIL)]
    pages = {(await client.get(answer.headers["location"])).text for answer in answers}

    assert [(answer.status_code, answer.headers["location"]) for answer in answers] == [SENT, SENT]
    assert len({len(answer.headers["set-cookie"]) for answer in answers}) == 1
    assert len(pages) == 1
    assert await count(runtime, "sign_ups") == 2
    (existing,) = await read_mail(user.email)
    assert existing["Subject"] == "You already have an account"
    assert LINK not in part(existing, "text/plain")
    assert "/login" in part(existing, "text/plain")
    assert (await read_mail(EMAIL))[0]["Subject"] == "Verify your email address"


async def test_an_existing_account_can_not_be_opened_again(
    client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await send(client, email=user.email.upper())
    row = await runtime.pool.fetchrow("select id from sign_ups")
    assert row is not None
    answer = await client.post(f"{LINK}{sign_ups.sign_up_token(runtime, row['id'])}")

    assert (answer.status_code, "already have an account" in read_page(answer).text) == (403, True)
    assert "set-cookie" not in answer.headers
    assert await count(runtime, "users") == 1


async def test_mail_and_account_have_the_language_that_was_chosen(
    client: httpx2.AsyncClient, runtime: Runtime, read_mail: ReadMail
) -> None:
    await send(client, language="ar")
    (message,) = await read_mail(EMAIL)
    await client.post(path_in(message, LINK))

    assert message["Content-Language"] == "ar"
    assert message["From"].addresses[0].display_name == "Openslot"
    assert 'dir="rtl"' in (await client.get("/account")).text


async def test_the_browsers_language_is_suggested(client: httpx2.AsyncClient) -> None:
    page = (await client.get("/signup", headers={"accept-language": "fr-CA"})).text

    assert '<option value="fr" lang="fr" selected>' in page


async def test_in_another_browser_the_password_is_asked_for(
    client: httpx2.AsyncClient, runtime: Runtime, link: str
) -> None:
    client.cookies.clear()
    shown = await client.get(link)
    for wrong in ("", "not the password", "x" * 300):
        answer = await client.post(link, data={"password": wrong})
        assert (answer.status_code, await count(runtime, "users")) == (400, 0)
    right = await client.post(link, data={"password": NEW})

    assert 'name="password"' in shown.text
    assert (right.status_code, await count(runtime, "users")) == (303, 1)


async def test_tries_at_the_password_of_a_sign_up_are_limited(
    settings: Settings, clock: MovingClock, runtime: Runtime, link: str
) -> None:
    async with visiting(settings, clock) as other:
        codes = [(await other.post(link, data={"password": f"guess number {n}"})).status_code for n in range(7)]
        right = await other.post(link, data={"password": NEW})

    assert codes == [400] * 5 + [429] * 2
    assert (right.status_code, await count(runtime, "users")) == (429, 0)


async def test_an_address_is_sent_three_links_an_hour(
    client: httpx2.AsyncClient, clock: MovingClock, read_mail: ReadMail, user: User
) -> None:
    counts = []
    for _ in range(2):
        for _ in range(5):
            assert (await send(client)).status_code == 303
            assert (await send(client, email=EMAIL.replace("@", "+tag@"))).status_code == 303
            assert (await send(client, email=user.email)).status_code == 303
            clock.pass_time(seconds=1)
        tagged = await read_mail(EMAIL.replace("@", "+tag@"))
        counts.append((len(await read_mail(EMAIL)) + len(tagged), len(await read_mail(user.email))))
        clock.pass_time(hours=1)

    assert counts == [(3, 3), (6, 6)]


async def test_mail_to_one_address_counts_with_all_other_mail_that_the_public_sets_off(
    settings: Settings, runtime: Runtime, clock: MovingClock, read_mail: ReadMail
) -> None:
    async with visiting(settings, clock) as client:
        await send(client)
    await read_mail(EMAIL)

    assert await runtime.pool.fetchval("select is_public from mail_messages") is True


async def test_one_address_signs_up_five_times_a_minute(settings: Settings, clock: MovingClock) -> None:
    async with visiting(settings, clock, limit_failed_auth=5) as client:
        codes = [(await send(client, email=f"guess{n}@haddad.example")).status_code for n in range(6)]
        other_form = await client.post("/password/forgot", data={"email": EMAIL})
        guess = await client.post(f"{LINK}wrong")

    assert codes == [303] * 5 + [429]
    assert (other_form.status_code, guess.status_code) == (429, 429)


FAULTS: list[tuple[str, str, str]] = [
    ("name", "", "Enter your name"),
    ("name", "x" * 201, "at most 200"),
    ("email", "", "Enter your email address"),
    ("email", "nobody", "Is not a valid email address"),
    ("password", "", "Choose a password"),
    ("password", "short", "at least 10"),
    ("timezone", "", "Choose your time zone"),
    ("timezone", "Mars/Olympus", "time zone"),
    ("language", "tlh", "one of"),
    ("website", "https://spam.example", "Must be empty"),
]


async def test_every_fault_is_told_at_its_field_and_what_was_typed_stays(
    client: httpx2.AsyncClient, runtime: Runtime
) -> None:
    for field, value, says in FAULTS:
        answer = await send(client, **{field: value})

        assert answer.status_code == 400, (field, value)
        assert field in read_page(answer).faults, (field, value)
        assert says.lower() in answer.text.lower(), (field, value)
        assert NEW not in answer.text, (field, value)
        assert await count(runtime, "sign_ups") == 0, (field, value)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ('"><img src=x onerror=alert(1)>', "&#34;&gt;&lt;img src=x onerror=alert(1)&gt;"),
        ("{{ 7 * 7 }}", "{{ 7 * 7 }}"),
        ("نور %(email)s", "نور %(email)s"),
    ],
)
async def test_a_name_is_shown_as_it_was_typed_and_never_run(
    client: httpx2.AsyncClient, read_mail: ReadMail, name: str, shown: str
) -> None:
    await send(client, name=name)
    message = (await read_mail(EMAIL))[-1]

    assert f"<bdi>{shown}</bdi>" in (await client.get(path_in(message, LINK))).text
    assert "<script" not in part(message, "text/html")
    assert "<img" not in part(message, "text/html")


async def test_by_invitation_nobody_signs_up_and_no_link_works(
    settings: Settings, clock: MovingClock, runtime: Runtime, link: str
) -> None:
    async with visiting(settings, clock, sign_up="invitation") as client:
        answers = [await client.get("/signup"), await send(client), await client.get(link), await client.post(link)]
        login = (await client.get("/login")).text

    assert [answer.status_code for answer in answers] == [403] * 4
    assert {answer.headers["x-error-code"] for answer in answers} == {"sign_up_disabled"}
    assert "by invitation" in read_page(answers[0]).text
    assert "/signup" not in login
    assert await count(runtime, "users") == 0


async def test_the_sign_in_leads_to_the_form_where_it_is_open(client: httpx2.AsyncClient, user: User) -> None:
    assert "/signup" in read_page(await client.get("/login")).addresses
    await sign_in(client, user.email)
    assert (await client.get("/signup")).headers["location"] == "/"
    assert (await send(client)).headers["location"] == "/"


def test_by_default_accounts_are_made_by_invitation() -> None:
    assert load_settings(environ={}).sign_up == "invitation"
    assert load_settings(environ={"OPENSLOT_SIGN_UP": "open"}).sign_up == "open"
    with pytest.raises(StartupError, match="OPENSLOT_SIGN_UP is wrong"):
        load_settings(environ={"OPENSLOT_SIGN_UP": "closed"})


async def test_pages_with_a_link_tell_its_address_to_nobody(client: httpx2.AsyncClient, link: str) -> None:
    for answer in (await client.get(link), await client.get(f"{LINK}wrong")):
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"


async def test_another_site_can_not_send_the_forms(client: httpx2.AsyncClient, runtime: Runtime, link: str) -> None:
    foreign = {"origin": "https://evil.example"}

    assert (await client.post(link, headers=foreign)).status_code == 403
    assert (await client.post("/signup", data=FORM, headers=foreign)).status_code == 403
    assert (await count(runtime, "users"), await count(runtime, "sign_ups")) == (0, 1)


@pytest.mark.parametrize(("base_url", "prefix"), [("https://slots.example", "__Host-"), (None, "")])
async def test_the_cookie_of_a_sign_up_is_for_this_site_and_no_script(
    settings: Settings, clock: MovingClock, base_url: str | None, prefix: str
) -> None:
    async with visiting(settings, clock, base_url=base_url) as client:
        cookie = (await send(client)).headers["set-cookie"]

    name, *parts = (part.strip() for part in cookie.split(";"))
    assert name.startswith(f"{prefix}openslot_sign_up=")
    assert {part.lower() for part in parts} == {"httponly", "samesite=lax", "path=/", "max-age=86400"} | (
        {"secure"} if prefix else set()
    )


async def test_a_mail_that_comes_too_late_is_not_sent(
    client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, read_mail: ReadMail
) -> None:
    await send(client)
    clock.now += sign_ups.LASTS

    assert await read_mail(EMAIL) == []
    assert await mails(runtime) == []


async def test_the_form_costs_the_same_statements_for_every_address(
    client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    for email in (user.email, EMAIL):
        await send(client, email=email)
    rows = await runtime.pool.fetch("select fact from events where type = 'sign_up.requested'")

    assert len(rows) == 2
    assert {len(row["fact"]) for row in rows} == {len(rows[0]["fact"])}


async def test_two_people_with_one_name_get_usernames_of_their_own(
    settings: Settings, clock: MovingClock, runtime: Runtime, read_mail: ReadMail
) -> None:
    links = []
    async with visiting(settings, clock) as one, visiting(settings, clock) as two:
        for client, email in ((one, EMAIL), (two, "noor@elsewhere.example")):
            await send(client, email=email)
            links.append(path_in((await read_mail(email))[-1], LINK))
        answers = await asyncio.gather(one.post(links[0]), two.post(links[1]))

    assert [answer.status_code for answer in answers] == [303, 303]
    names = {row["username"] for row in await runtime.pool.fetch("select username from users")}
    assert names == {"noor-haddad", "noor-haddad-2"}
