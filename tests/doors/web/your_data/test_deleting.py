"""The page shows what a deletion would do, asks who it is, and closes everything at once."""

import httpx2
import pytest

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import User
from openslot.domains.accounts.organizations.operations import add_organization
from openslot.domains.accounts.plans import Plan
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.your_data.support import PAGE, find_message
from tests.support.host import ELEVEN, Book
from tests.support.hostile_text import CORPUS
from tests.support.page import read_page
from tests.support.passwords import PASSWORD
from tests.support.two_factor import turn_on


async def test_the_page_names_what_would_be_cancelled(member: httpx2.AsyncClient, book: Book) -> None:
    await book()
    await book(ELEVEN, name="Priya Raman", email="priya@raman.example")

    page = (await member.get(PAGE)).text

    assert "2 upcoming bookings will be cancelled." in page
    assert "Priya Raman" in page
    assert "Monday 16 March, 11:00" in page
    assert "1 event type with its page" in page
    assert "2 contacts" in page
    assert "API key" not in page.partition("What happens when")[2].partition("<nav")[0].partition("palette")[0]


async def test_the_right_password_deletes_and_signs_out(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    await book()
    answer = await member.post(PAGE, data={"password": PASSWORD, "message": "  I am retiring.  "})

    assert answer.status_code == 200
    assert "Your account is being deleted" in read_page(answer).headings
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert await find_message(runtime) == ("I am retiring.",)
    assert (await member.get("/settings/data")).headers["location"].startswith("/login")
    assert (await member.get("/mara")).status_code == 404


async def test_a_wrong_password_is_told_at_its_field_and_deletes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    for password in ("", "wrong", "correct horse batterx", "x" * 201, "a\nb"):
        answer = await member.post(PAGE, data={"password": password, "message": "Bye"})

        assert answer.status_code == 400, password
        assert read_page(answer).faults.keys() == {"password"}, password
        assert await find_message(runtime) is None, password
        assert (await member.get("/mara")).status_code == 200, password


async def test_guessing_is_limited(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    answers = [await member.post(PAGE, data={"password": f"guess {place}"}) for place in range(12)]

    assert answers[-1].status_code == 429
    assert (await member.post(PAGE, data={"password": PASSWORD})).status_code == 429
    assert await find_message(runtime) is None


async def test_with_a_second_factor_a_code_is_needed_too(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    assert "code" not in read_page(await member.get(PAGE)).fields
    phone = await turn_on(runtime, user)
    assert "code" in read_page(await member.get(PAGE)).fields
    for code in ("", "000000", "x" * 101):
        answer = await member.post(PAGE, data={"password": PASSWORD, "code": code})

        assert answer.status_code == 400
        assert read_page(answer).faults.keys() == {"code"}
    wrong = await member.post(PAGE, data={"password": "wrong", "code": phone.code(runtime)})
    assert read_page(wrong).faults.keys() == {"password"}
    assert await find_message(runtime) is None

    done = await member.post(PAGE, data={"password": PASSWORD, "code": phone.code(runtime)})
    assert done.status_code == 200
    assert await find_message(runtime) == (None,)


async def test_a_managed_member_reads_what_to_do(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        organization = await add_organization(work, name="Harbor", slug="harbor", plan=Plan.BUSINESS)
        await add_organization_member(work, organization, user)

    shown = (await member.get(PAGE)).text
    assert "Harbor manages your account. Ask its administrator to remove you first." in shown
    assert f'action="{PAGE}"' not in shown
    answer = await member.post(PAGE, data={"password": PASSWORD})

    assert answer.status_code == 409
    assert read_page(answer).notices == ["Harbor manages your account. Ask its administrator to remove you first."]
    assert await find_message(runtime) is None


async def test_a_message_that_is_too_long_is_kept_in_the_form(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    await book()
    answer = await member.post(PAGE, data={"password": PASSWORD, "message": "long " * 101})

    assert answer.status_code == 400
    assert read_page(answer).faults.keys() == {"message"}
    assert "long long" in answer.text
    assert await find_message(runtime) is None


@pytest.mark.parametrize("text", CORPUS)
async def test_stored_and_typed_text_stays_text(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book, text: str
) -> None:
    await book()
    await runtime.pool.execute("update bookings set invitee_name = $1", text)
    await runtime.pool.execute("update event_types set name = $1", text)
    for page in (await member.get(PAGE), await member.post(PAGE, data={"message": text, "password": "no"})):
        assert "xss-probe" in read_page(page).text
        assert "<xss-probe" not in page.text
