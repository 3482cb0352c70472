"""Guessing at passwords: slower with every try, from however many addresses, and never at the owner's cost."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx2
import msgspec
import pytest

from openslot.app import create_app
from openslot.domains.access import operations as access
from openslot.domains.access.errors import InvalidCredentials
from openslot.domains.access.jobs import ACCESS_JOBS
from openslot.domains.access.limits import store
from openslot.domains.access.sessions import DEVICE_LASTS, find_device, new_device
from openslot.domains.accounts.models import User
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Networks, Settings
from openslot.platform.core.ids import Signer, new_id
from openslot.platform.core.work import Runtime
from openslot.platform.jobs.periodic import run_job
from tests.doors.web.conftest import read_csrf_token
from tests.support.live import connect, serving
from tests.support.parts import how_many
from tests.support.passwords import CHEAP, PASSWORD
from tests.support.statements import CountingPool

WRONG = "not the password"
CROWD, TRIES = how_many(40), how_many(12)
PAUSES = [0, 0, 0, 0, 30, 60, 120, 240, 480, 900, 900, 900]
SIGNER = Signer(("a key that signs" * 3, "one that did so before" * 3))


@pytest.fixture(autouse=True)
async def cheap(runtime: Runtime, user: User) -> None:
    """Make the host's password cheap to check, so that many tries take no time."""
    cheap_hash = CHEAP.hash(PASSWORD)
    await runtime.pool.execute("update users set password_hash = $2 where id = $1", user.id, cheap_hash)


@pytest.fixture
async def pair(settings: Settings) -> AsyncIterator[list[httpx2.AsyncClient]]:
    """Two web processes behind a trusted proxy, so that every client can have an address of its own."""
    chosen = msgspec.structs.replace(settings, trusted_proxies=Networks.parse("127.0.0.1/32"))
    async with (
        serving(create_app(chosen)) as one,
        serving(create_app(chosen)) as two,
        connect(one, timeout=60) as first,
        connect(two, timeout=60) as second,
    ):
        yield [first, second]


async def sign_in(
    client: httpx2.AsyncClient, user: User | str, password: str = PASSWORD, *, n: int = 0, device: str = ""
) -> httpx2.Response:
    """Sign in as a browser that has no more than the mark of a known device, from an address of one's own."""
    email = user if isinstance(user, str) else user.email
    headers = {"x-forwarded-for": f"198.51.{n // 250}.{n % 250}"}
    if device:
        headers["cookie"] = f"openslot_device={device}"
    client.cookies.clear()
    answer = await client.post("/login", data={"email": email, "password": password}, headers=headers)
    client.cookies.clear()
    return answer


async def attack(pair: list[httpx2.AsyncClient], email: str, tries: int) -> list[int]:
    """Try wrong passwords, each from another address, at two processes by turns."""
    return [(await sign_in(pair[n % 2], email, WRONG, n=n)).status_code for n in range(1, tries + 1)]


async def let_pass(runtime: Runtime, seconds: float) -> None:
    """Let time pass for wrong passwords and their pauses."""
    await runtime.pool.execute(
        "update wrong_passwords set free_at = free_at - $1::interval, failed_at = failed_at - $1::interval",
        timedelta(seconds=seconds),
    )


async def test_tries_from_everywhere_slow_an_account_down_at_all_processes(
    pair: list[httpx2.AsyncClient], user: User
) -> None:
    assert await attack(pair, user.email, 7) == [401] * 5 + [429] * 2
    refused = await sign_in(pair[0], user, n=99)

    assert refused.status_code == 429
    assert 25 <= int(refused.headers["retry-after"]) <= 30


async def test_of_many_wrong_tries_at_once_from_everywhere_five_are_heard(
    pair: list[httpx2.AsyncClient], user: User
) -> None:
    answers = await asyncio.gather(*(sign_in(pair[n % 2], user, WRONG, n=n) for n in range(CROWD)))

    assert Counter(answer.status_code for answer in answers) == {401: 5, 429: CROWD - 5}


async def test_the_pause_grows_with_every_try_up_to_a_quarter_of_an_hour(runtime: Runtime) -> None:
    pauses = []
    for _ in PAUSES:
        assert (await store.count_try(runtime.pool, subject="account x", log=None, limit=5))["taken"]
        pause = await runtime.pool.fetchval("select free_at - failed_at from wrong_passwords")
        pauses.append(round(pause.total_seconds()))
        await let_pass(runtime, 900)

    assert pauses == PAUSES


@pytest.mark.parametrize(("step", "heard"), [(600, False), (3_600, True), (86_400, True)])
async def test_a_clock_that_is_set_back_does_not_lengthen_a_pause_beyond_the_longest(
    runtime: Runtime, step: int, heard: bool
) -> None:
    for _ in range(5):
        await store.count_try(runtime.pool, subject="account x", log=None, limit=5)
    await let_pass(runtime, -step)
    verdicts = [await store.count_try(runtime.pool, subject="account x", log=None, limit=5) for _ in range(2)]

    assert [verdict["taken"] for verdict in verdicts] == [heard, False]
    assert verdicts[-1]["free_at"] - verdicts[-1]["now"] <= store.LONGEST_PAUSE_SECONDS * 1_000_000


async def test_tries_during_the_pause_do_not_lengthen_it(pair: list[httpx2.AsyncClient], runtime: Runtime) -> None:
    await attack(pair, "nobody@lindqvist.example", 5)
    before = await runtime.pool.fetchrow("select failures, free_at, failed_at from wrong_passwords")
    await attack(pair, "nobody@lindqvist.example", 4)

    assert await runtime.pool.fetchrow("select failures, free_at, failed_at from wrong_passwords") == before


async def test_wrong_passwords_are_forgotten_when_the_right_one_comes(
    pair: list[httpx2.AsyncClient], user: User, runtime: Runtime
) -> None:
    await attack(pair, user.email, 4)
    assert (await sign_in(pair[0], user, n=50)).status_code == 303

    assert await runtime.pool.fetchval("select count(*) from wrong_passwords") == 0
    assert await attack(pair, user.email, 6) == [401] * 5 + [429]


async def test_wrong_passwords_are_forgotten_after_a_day_without_one(
    pair: list[httpx2.AsyncClient], user: User, runtime: Runtime
) -> None:
    await attack(pair, user.email, 5)
    await let_pass(runtime, 86_400)

    assert await attack(pair, user.email, 6) == [401] * 5 + [429]


async def test_an_unknown_address_is_slowed_down_like_a_known_one(pair: list[httpx2.AsyncClient]) -> None:
    codes = [(await sign_in(pair[n % 2], "Nobody@lindqvist.example", WRONG, n=n)) for n in range(6)]
    other_case = await sign_in(pair[0], " nobody@LINDQVIST.example", WRONG, n=7)

    assert [answer.status_code for answer in codes] == [401] * 5 + [429]
    assert other_case.status_code == 429


async def test_an_unknown_address_takes_the_same_steps_as_a_known_one(runtime: Runtime, user: User) -> None:
    counting = CountingPool(runtime.pool)
    runtime.pool = counting
    asked = []
    for email in (user.email, "nobody@lindqvist.example"):
        counting.asked.clear()
        with pytest.raises(InvalidCredentials):
            await access.sign_in(
                runtime.work(OPERATOR), email=email, password=WRONG, address="192.0.2.1", user_agent=""
            )
        asked.append(list(counting.asked))

    assert asked[0] == asked[1]
    assert len(asked[0]) == 2


async def test_a_right_sign_in_is_five_statements(runtime: Runtime, user: User) -> None:
    counting = CountingPool(runtime.pool)
    runtime.pool = counting
    work = runtime.work(OPERATOR)
    await access.sign_in(work, email=user.email, password=PASSWORD, address="192.0.2.1", user_agent="")

    # The password, tries, the second factor, the session, and tries that are forgiven.
    assert len(counting.asked) == 5


async def test_a_known_device_comes_in_whatever_strangers_do(pair: list[httpx2.AsyncClient], user: User) -> None:
    device = (await sign_in(pair[0], user)).cookies["openslot_device"]
    await attack(pair, user.email, 7)
    strangers = [await sign_in(pair[0], user, n=n) for n in (0, 99)]
    owner = await sign_in(pair[1], user, device=device)

    assert [answer.status_code for answer in strangers] == [429, 429]
    assert owner.status_code == 303


async def test_a_known_device_comes_in_from_an_address_that_strangers_have_used_up(
    pair: list[httpx2.AsyncClient], user: User
) -> None:
    device = (await sign_in(pair[0], user)).cookies["openslot_device"]
    for n in range(6):
        await sign_in(pair[0], f"guess{n}@lindqvist.example", WRONG)

    assert (await sign_in(pair[0], user)).status_code == 429
    assert (await sign_in(pair[0], user, device=device)).status_code == 303


async def test_a_known_device_does_not_lift_the_pause_for_strangers(pair: list[httpx2.AsyncClient], user: User) -> None:
    device = (await sign_in(pair[0], user)).cookies["openslot_device"]
    await attack(pair, user.email, 5)
    await sign_in(pair[0], user, device=device)

    assert (await sign_in(pair[0], user, n=99)).status_code == 429


async def test_a_stolen_mark_gives_a_thief_a_few_tries_and_takes_none_from_other_devices(
    pair: list[httpx2.AsyncClient], user: User
) -> None:
    stolen, other = [(await sign_in(pair[0], user)).cookies["openslot_device"] for _ in range(2)]
    codes = [(await sign_in(pair[n % 2], user, WRONG, n=n, device=stolen)).status_code for n in range(7)]

    assert codes == [401] * 5 + [429] * 2
    assert (await sign_in(pair[0], user, device=stolen)).status_code == 429
    assert (await sign_in(pair[0], user, device=other)).status_code == 303
    assert (await sign_in(pair[0], user, n=99)).status_code == 303


async def test_a_mark_is_of_no_use_for_another_account(pair: list[httpx2.AsyncClient], user: User, admin: User) -> None:
    device = (await sign_in(pair[0], user)).cookies["openslot_device"]
    await attack(pair, admin.email, 5)

    assert (await sign_in(pair[0], admin, device=device, n=99)).status_code == 429


async def of_session(client: httpx2.AsyncClient, session: str) -> dict[str, str]:
    """Return what a browser sends with a form of this session."""
    cookie = {"cookie": f"openslot_session={session}"}
    return {**cookie, "x-csrf-token": read_csrf_token((await client.get("/account", headers=cookie)).text)}


async def test_strangers_do_not_keep_the_owner_from_changing_the_password(
    pair: list[httpx2.AsyncClient], user: User
) -> None:
    session = (await sign_in(pair[0], user)).cookies["openslot_session"]
    await attack(pair, user.email, 6)
    headers = await of_session(pair[0], session)
    form = {"current": PASSWORD, "password": "a fresh long password"}

    assert (await pair[1].post("/account/password", data=form, headers=headers)).status_code == 303


async def test_a_mark_is_worth_nothing_after_a_change_of_the_password(
    pair: list[httpx2.AsyncClient], user: User
) -> None:
    old = await sign_in(pair[0], user)
    headers = await of_session(pair[0], old.cookies["openslot_session"])
    form = {"current": PASSWORD, "password": "a fresh long password"}
    changed = await pair[0].post("/account/password", data=form, headers=headers)
    await attack(pair, user.email, 5)

    for answer, code in ((old, 429), (changed, 303)):
        device = answer.cookies["openslot_device"]
        assert (await sign_in(pair[0], user, form["password"], n=99, device=device)).status_code == code


async def test_a_change_of_the_password_ends_the_pause_for_the_owners_other_devices(
    pair: list[httpx2.AsyncClient], user: User
) -> None:
    session = (await sign_in(pair[0], user)).cookies["openslot_session"]
    await attack(pair, user.email, 6)
    form = {"current": PASSWORD, "password": "a fresh long password"}
    await pair[0].post("/account/password", data=form, headers=await of_session(pair[0], session))

    assert (await sign_in(pair[1], user, form["password"], n=99)).status_code == 303


def test_only_a_whole_fresh_mark_of_this_user_and_password_is_known(runtime: Runtime) -> None:
    now, mine, other = runtime.clock(), new_id(), new_id()
    tokens = (new_device(SIGNER, mine, password_hash="one", now=now) for _ in range(1000))
    token = next(each for each in tokens if "-" in each)
    turned = token[:30] + ("A" if token[30] != "A" else "B") + token[31:]

    def known(
        token: str, *, user_id: object = mine, signer: Signer = SIGNER, password: str = "one", days: int = 0
    ) -> bool:
        at = now + timedelta(days=days)
        return find_device(signer, token, user_id, password_hash=password, now=at) is not None  # type: ignore[arg-type]

    assert known(token)
    assert known(token, days=DEVICE_LASTS.days - 1)
    assert known(token, signer=Signer(("a newer key" * 4, "a key that signs" * 3)))
    assert not known(token, days=DEVICE_LASTS.days)
    assert not known(token, user_id=other)
    assert not known(token, password="two")
    assert not known(token, signer=Signer(("another key" * 4,)))
    for wrong in ("", turned, token[:-4], token + "AAAA", "=" * 96, "ü" * 96, "\0" * 96, token.replace("-", "+")):
        assert not known(wrong)


@pytest.mark.rest("fills the database with much")
@pytest.mark.parametrize(
    ("email", "code"),
    [
        ("x" * 255, 400),
        ("a\0@lindqvist.example", 400),
        ("a\n@lindqvist.example", 400),
        ("\u202e@lindqvist.example", 401),
        ("ü" * 254, 401),
        ("x" * 1_000_000, 413),
    ],
    ids=["long", "NUL", "line break", "right to left", "Unicode", "a megabyte"],
)
async def test_hostile_addresses_leave_little_behind(
    pair: list[httpx2.AsyncClient], runtime: Runtime, email: str, code: int
) -> None:
    assert (await sign_in(pair[0], email, WRONG)).status_code == code

    rows = await runtime.pool.fetch("select octet_length(subject) as size from wrong_passwords")
    assert [row["size"] for row in rows] == ([32] if code == 401 else [])


@pytest.mark.parametrize(
    "spelling",
    ["MARA@lindqvist.example", "mara@LINDQVIST.EXAMPLE", "mara@l\u0131ndqvist.example"],
)
async def test_spellings_that_find_one_account_are_counted_together(
    pair: list[httpx2.AsyncClient], runtime: Runtime, user: User, spelling: str
) -> None:
    await sign_in(pair[0], user, WRONG)
    await sign_in(pair[0], spelling, WRONG)
    is_one = await runtime.pool.fetchval("select lower($1) = lower($2)", user.email, spelling)

    assert await runtime.pool.fetchval("select count(*) from wrong_passwords") == (1 if is_one else 2)


async def test_many_tries_at_once_never_lock_each_other_up(pair: list[httpx2.AsyncClient], user: User) -> None:
    right = [sign_in(pair[n % 2], user, n=n % 3) for n in range(TRIES)]
    wrong = [sign_in(pair[n % 2], f"guess{n % 3}@lindqvist.example", WRONG, n=n % 3) for n in range(TRIES)]
    codes = [answer.status_code for answer in await asyncio.gather(*right, *wrong)]

    assert set(codes) <= {303, 401, 429, 503}


async def test_what_does_not_count_any_more_is_removed(runtime: Runtime) -> None:
    for n in range(3):
        await store.count_try(runtime.pool, subject=f"account {n}", log=f"login:{n}", limit=5)
    await let_pass(runtime, 86_400)
    await store.count_try(runtime.pool, subject="account young", log="login:young", limit=5)
    # A log whose last try was forgiven is empty.
    await store.forgive_tries(runtime.pool, subject="account young", log="login:young")
    await store.count_try(runtime.pool, subject="account young", log=None, limit=5)
    (tidy,) = ACCESS_JOBS
    await run_job(runtime, tidy)

    assert await runtime.pool.fetchval("select count(*) from wrong_passwords") == 1
    assert await runtime.pool.fetchval("select count(*) from rate_log where bucket = 'login:young'") == 0
