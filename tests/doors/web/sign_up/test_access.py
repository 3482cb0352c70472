"""After a new password, users see what can still act as them, and end what they do not know with one button."""

from uuid import UUID

import httpx2

from openslot.domains.access import operations as access
from openslot.domains.access.models import CredentialKind
from openslot.domains.accounts.models import User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.sign_up.others import give_access
from tests.support.page import read_page

PATH = "/settings/access"


async def list_live(runtime: Runtime, user: User) -> set[UUID]:
    """List what can act as a user."""
    rows = await runtime.pool.fetch(
        """select id from assistant_grants where user_id = $1 and revoked_at is null
        union all select id from api_keys where user_id = $1 and revoked_at is null
        union all select id from sessions where user_id = $1""",
        user.id,
    )
    return {row["id"] for row in rows}


async def test_everything_is_listed_and_ticked_but_this_browser(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    (this,) = await list_live(runtime, user)
    others = await give_access(runtime, user)
    async with runtime.transaction(OPERATOR) as work:
        _, revoked = await access.create_api_key(work, user, name="Old")
        await access.revoke_credential(work, CredentialKind.API_KEY, user.id, revoked.id)
    page = (await member.get(PATH)).text

    assert page.count('type="checkbox"') == 6
    for each in others.all_ids():
        assert f'value="{each}" checked' in page
    assert str(this) not in page
    assert str(revoked.id) not in page


async def test_what_is_ticked_ends_and_what_is_not_stays(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    (this,) = await list_live(runtime, user)
    others = await give_access(runtime, user)
    ticked = {"assistant": others.assistants[0], "key": others.keys[0], "session": others.sessions[0]}
    answer = await member.post(PATH, data={name: str(id_) for name, id_ in ticked.items()})

    assert (answer.status_code, answer.headers["location"]) == (303, f"{PATH}?done=ended")
    assert await list_live(runtime, user) == {this, others.assistants[1], others.keys[1], others.sessions[1]}
    assert "has no access" in read_page(await member.get(answer.headers["location"])).notices[0]
    # Sent again, it is passed over.
    assert (await member.post(PATH, data={name: str(id_) for name, id_ in ticked.items()})).status_code == 303


async def test_all_of_it_ends_at_once_and_the_page_says_that_nothing_is_left(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    (this,) = await list_live(runtime, user)
    others = await give_access(runtime, user)
    ticked = {"assistant": others.assistants, "key": others.keys, "session": others.sessions}
    await member.post(PATH, data={name: [str(each) for each in ids] for name, ids in ticked.items()})

    assert await list_live(runtime, user) == {this}
    assert "Nothing has access except this browser" in (await member.get(PATH)).text


async def test_nobody_ends_what_is_another_users(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        other = await people.welcome_user(work, UserWanted(email="ana@silva.example", name="Ana", plan=Plan.PRO))
    others = await give_access(runtime, other)
    ticked = {"assistant": others.assistants, "key": others.keys, "session": others.sessions}
    await member.post(PATH, data={name: [str(each) for each in ids] for name, ids in ticked.items()})

    assert await list_live(runtime, other) == set(others.all_ids())
