"""An account without a password is deleted with a link by mail, or with a code if it has a second factor."""

from datetime import timedelta

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.people import deletions
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages
from tests.doors.web.sign_up.conftest import path_in
from tests.doors.web.your_data.support import PAGE, find_message
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import open_session
from tests.support.page import read_page
from tests.support.passwords import PASSWORD
from tests.support.two_factor import turn_on

LINK = f"{PAGE}/link"


@pytest.fixture
async def bare(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> httpx2.AsyncClient:
    """Sign in as a host who has no password."""
    await runtime.pool.execute("update users set password_hash = null where id = $1", user.id)
    return member


async def ask(client: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, user: User) -> str:
    """Ask for the link, and return the path in the mail."""
    answer = await client.post(LINK)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{PAGE}?done=sent")
    await work_off(runtime, clock)
    return path_in((await messages(runtime, user.email))[-1], f"{PAGE}/")


def proof_of(runtime: Runtime, user: User, *, expires_in: timedelta = timedelta(minutes=5)) -> str:
    url = deletions.write_link(runtime, user, expires_at=runtime.clock() + expires_in)
    return url.rpartition("/")[2]


async def test_the_link_opens_the_page_and_only_the_button_deletes(
    bare: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, user: User
) -> None:
    page = (await bare.get(PAGE)).text
    assert 'name="password"' not in page
    assert f'action="{LINK}"' in page
    assert "Delete my account" not in page
    path = await ask(bare, runtime, clock, user)
    assert "finds the link in the mailbox" in read_page(await bare.get(f"{PAGE}?done=sent")).notices[0]
    opened = await bare.get(path)
    assert (opened.status_code, opened.headers["cache-control"]) == (200, "no-store")
    assert "Delete my account" in read_page(opened).buttons
    assert await find_message(runtime) is None

    proof = path.rpartition("/")[2]
    assert f'name="proof" value="{proof}"' in opened.text
    assert (await bare.post(PAGE, data={"proof": proof})).status_code == 200
    assert await find_message(runtime) == (None,)


async def test_without_the_link_nothing_is_deleted(
    bare: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User
) -> None:
    right = proof_of(runtime, user)
    wrong = {
        "nothing": "",
        "the address": user.email,
        "an expired one": proof_of(runtime, user, expires_in=timedelta(seconds=-1)),
        "another user's": proof_of(runtime, stranger),
        "a changed time": "B" + right[1:],
        "a changed signature": right[:-2] + ("AA" if right[-2:] != "AA" else "BB"),
        "no base64": "!" * len(right),
        "half of one": right[:20],
        "a time alone": right[:11],
    }
    for name, proof in wrong.items():
        answer = await bare.post(PAGE, data={"proof": proof, "email": user.email, "password": PASSWORD})

        assert answer.status_code == 400, name
        assert "The link is not valid or has expired" in read_page(answer).notices[0], name
        assert await find_message(runtime) is None, name
    assert (await bare.get(f"{PAGE}/{wrong['an expired one']}")).status_code == 400


async def test_a_link_to_an_address_that_the_account_no_longer_has_proves_nothing(
    bare: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    proof = proof_of(runtime, user)
    await runtime.pool.execute("update users set email = 'new@lindqvist.example' where id = $1", user.id)

    assert (await bare.post(PAGE, data={"proof": proof})).status_code == 400
    assert await find_message(runtime) is None


async def test_the_link_needs_the_session_and_a_password_is_asked_for_all_the_same(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User
) -> None:
    proof = proof_of(runtime, user)
    assert read_page(await member.post(PAGE, data={"proof": proof})).faults.keys() == {"password"}
    member.headers.update(await open_session(runtime, stranger))
    await runtime.pool.execute("update users set password_hash = null")
    assert (await member.post(PAGE, data={"proof": proof})).status_code == 400
    member.headers.pop("cookie")
    assert (await member.get(f"{PAGE}/{proof}")).headers["location"] == f"/login?next={PAGE}/{proof}"
    assert await find_message(runtime) is None


async def test_a_code_of_the_second_factor_replaces_the_link(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    phone = await turn_on(runtime, user)
    await runtime.pool.execute("update users set password_hash = null where id = $1", user.id)
    page = (await member.get(PAGE)).text
    assert 'name="code"' in page
    assert f'action="{LINK}"' not in page
    assert read_page(await member.post(PAGE, data={"code": "000000"})).faults.keys() == {"code"}
    assert await find_message(runtime) is None

    assert (await member.post(PAGE, data={"code": phone.code(runtime)})).status_code == 200
    assert await find_message(runtime) == (None,)


async def test_mails_with_a_link_are_limited_and_go_to_accounts_without_a_password_alone(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, user: User
) -> None:
    await member.post(LINK)
    await work_off(runtime, clock)
    assert await messages(runtime, user.email) == []
    codes = [(await member.post(LINK)).status_code for _ in range(3)]

    assert codes == [303, 303, 429]
    assert "Too many requests. Wait " in read_page(await member.post(LINK)).notices[0]
