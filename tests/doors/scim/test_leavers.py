"""Leavers: what a provider's word closes, what reopens it, and the brake on too many at once."""

import asyncio
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from openslot.domains.access import operations as access
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import Organization, User, UserWanted
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.people import departures
from openslot.domains.people import operations as people
from openslot.domains.people.errors import HeldDepartureNotFound
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.scim.support import SUSPEND_AS_TEXT, crowd, is_open, join
from tests.support.leavers import book_one, statuses
from tests.support.provisioning import DOMAIN, Provider

RETURN = {"op": "replace", "value": {"active": True}}


async def test_who_is_suspended_can_neither_sign_in_nor_be_booked(
    provider: Provider, runtime: Runtime, mara: User
) -> None:
    member_id = await join(provider, mara)
    await book_one(runtime)
    async with runtime.transaction(OPERATOR) as work:
        await access.begin_session(work, mara, user_agent="test")
        key, _ = await access.create_api_key(work, await accounts.get_user(work, mara.id), name="own")
    headers = {"Authorization": f"Bearer {key}"}
    assert (await provider.client.get("/api/v1/me", headers=headers)).status_code == 200

    answer = await provider.patch(member_id, SUSPEND_AS_TEXT)
    assert (answer.status_code, answer.json()["active"]) == (200, False)
    assert await statuses(runtime, mara) == ["CANCELLED"]
    assert await runtime.pool.fetchval("select count(*) from sessions") == 0
    assert (await provider.client.get("/api/v1/me", headers=headers)).status_code == 401
    assert (await provider.client.get("/api/public/mara")).status_code == 404
    types = [row["type"] for row in await runtime.pool.fetch("select type from events order by no")]
    assert {"booking.cancelled", "member.suspended"} <= set(types)
    assert await runtime.pool.fetchval("select actor ->> 'kind' from events where type = 'booking.cancelled'") == "scim"

    assert (await provider.patch(member_id, RETURN)).json()["active"] is True
    assert (await provider.client.get("/api/v1/me", headers=headers)).status_code == 200
    assert (await provider.client.get("/api/public/mara")).status_code == 200


async def test_who_is_removed_keeps_the_account_and_loses_the_bookings(
    provider: Provider, runtime: Runtime, mara: User
) -> None:
    member_id = await join(provider, mara)
    await book_one(runtime)
    async with runtime.transaction(OPERATOR) as work:
        await access.begin_session(work, mara, user_agent="test")

    assert (await provider.send("DELETE", f"/Users/{member_id}")).status_code == 204
    assert await statuses(runtime, mara) == ["CANCELLED"]
    assert await is_open(runtime, mara)
    assert await runtime.pool.fetchval("select count(*) from sessions") == 0
    assert await runtime.pool.fetchval("select count(*) from memberships") == 0


async def test_who_was_suspended_and_removed_stays_out_until_hired_again(
    provider: Provider, runtime: Runtime, mara: User
) -> None:
    member_id = await join(provider, mara)
    await provider.patch(member_id, SUSPEND_AS_TEXT)
    await provider.send("DELETE", f"/Users/{member_id}")
    assert not await is_open(runtime, mara)

    await join(provider, mara)
    assert await is_open(runtime, mara)


async def test_what_an_operator_has_closed_no_provider_opens(provider: Provider, runtime: Runtime, mara: User) -> None:
    member_id = await join(provider, mara)
    await provider.patch(member_id, SUSPEND_AS_TEXT)
    async with runtime.transaction(OPERATOR) as work:
        await people.disable_user(work, await accounts.get_user(work, mara.id), reason="fraud")
    await provider.patch(member_id, RETURN)

    assert not await is_open(runtime, mara)


async def test_an_organization_can_keep_the_bookings_of_the_suspended(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization
) -> None:
    member_id = await join(provider, mara)
    await book_one(runtime)
    async with runtime.transaction(OPERATOR) as work:
        await organizations.change_organization_settings(work, organization, keeps_bookings=True)
    await provider.patch(member_id, SUSPEND_AS_TEXT)

    assert await statuses(runtime, mara) == ["CONFIRMED"]
    assert not await is_open(runtime, mara)
    await provider.send("DELETE", f"/Users/{member_id}")
    assert await statuses(runtime, mara) == ["CANCELLED"]


async def test_the_last_administrator_is_not_suspended(provider: Provider, runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await people.welcome_user(work, UserWanted(email=f"ada@{DOMAIN}", name="Ada", is_admin=True))
    made = await provider.create(f"ada@{DOMAIN}")
    answer = await provider.patch(made["id"], SUSPEND_AS_TEXT)

    assert answer.status_code == 409
    assert (await provider.read(made["id"]))["active"] is True


async def test_a_mover_keeps_the_account_under_its_new_name_and_address(
    provider: Provider, runtime: Runtime, mara: User
) -> None:
    member_id = await join(provider, mara)
    new = f"mara.okafor@{DOMAIN}"
    answer = await provider.patch(
        member_id,
        {"op": "Replace", "path": "userName", "value": new},
        {"op": "Add", "path": "name.familyName", "value": "Okafor"},
        {"op": "Add", "path": "name.givenName", "value": "Mara"},
    )
    after = await accounts.get_user(runtime.work(OPERATOR), mara.id)

    assert answer.status_code == 200
    assert (after.email, after.name) == (new, "Mara Okafor")
    assert answer.json()["meta"]["version"] == 'W/"2"'


async def test_a_new_address_outside_the_domain_or_of_another_account_changes_no_account(
    provider: Provider, runtime: Runtime, mara: User
) -> None:
    member_id = await join(provider, mara)
    await provider.create(f"li@{DOMAIN}")
    outside = await provider.patch(member_id, {"op": "replace", "path": "userName", "value": "mara@gmail.example"})
    taken = await provider.patch(member_id, {"op": "replace", "path": "emails", "value": [{"value": f"li@{DOMAIN}"}]})

    assert outside.status_code == 200
    assert (taken.status_code, taken.json()["scimType"]) == (409, "uniqueness")
    assert (await accounts.get_user(runtime.work(OPERATOR), mara.id)).email == mara.email


async def test_an_administrator_of_the_platform_keeps_the_address(
    provider: Provider, runtime: Runtime, mara: User
) -> None:
    member_id = await join(provider, mara)
    await runtime.pool.execute("update users set is_admin = true where id = $1", mara.id)
    new = f"somebody-else@{DOMAIN}"
    answer = await provider.patch(member_id, {"op": "replace", "path": "userName", "value": new})

    assert (answer.status_code, answer.json()["userName"]) == (200, new)
    assert (await accounts.get_user(runtime.work(OPERATOR), mara.id)).email == mara.email


@pytest.mark.parametrize(
    ("departed", "members", "share", "verdict"),
    [
        (5, 5, 20, False),
        (6, 6, 20, True),
        (6, 29, 20, True),
        (6, 30, 20, False),
        (20, 100, 20, False),
        (21, 100, 20, True),
        (6, 100, 0, True),
        (100, 100, 100, False),
    ],
)
def test_more_than_five_and_more_than_the_share_are_too_many(
    departed: int, members: int, share: int, verdict: bool
) -> None:
    assert departures.is_too_many(departed, members, share=share) is verdict


async def suspend_many(provider: Provider, runtime: Runtime, mara: User) -> str:
    """Suspend nine of ten: the first five lose everything, Mara comes last."""
    member_id = await join(provider, mara)
    await book_one(runtime)
    for other in await crowd(provider, 9):
        assert (await provider.patch(other, SUSPEND_AS_TEXT)).status_code == 200
    return member_id


async def test_a_providers_mistake_does_not_empty_the_calendar(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization
) -> None:
    member_id = await suspend_many(provider, runtime, mara)
    answer = await provider.patch(member_id, SUSPEND_AS_TEXT)

    assert (answer.status_code, answer.json()["active"]) == (200, False)
    assert not await is_open(runtime, mara)
    assert await statuses(runtime, mara) == ["CONFIRMED"]
    work = runtime.work(OPERATOR)
    held = await departures.list_held(work, organization)
    assert [each.email for each in held] == [*(f"u{n}@{DOMAIN}" for n in range(5, 9)), mara.email]
    assert held[-1].counts.cancelled == 1
    told = await runtime.pool.fetchval("select count(*) from events where type = 'departure.held'")
    assert told == 5

    assert (await provider.patch(member_id, RETURN)).status_code == 200
    assert await is_open(runtime, mara)
    assert await statuses(runtime, mara) == ["CONFIRMED"]
    assert len(await departures.list_held(work, organization)) == 4


async def test_of_many_who_leave_at_once_no_more_than_five_lose_their_bookings(
    provider: Provider, runtime: Runtime, organization: Organization
) -> None:
    everyone = await crowd(provider, 12)
    answers = await asyncio.gather(*(provider.patch(member_id, SUSPEND_AS_TEXT) for member_id in everyone))

    assert {answer.status_code for answer in answers} == {200}
    assert len(await departures.list_held(runtime.work(OPERATOR), organization)) == 7


async def test_an_administrator_approves_what_waits(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization
) -> None:
    member_id = await suspend_many(provider, runtime, mara)
    await provider.patch(member_id, SUSPEND_AS_TEXT)
    async with runtime.transaction(OPERATOR) as work:
        held = (await departures.list_held(work, organization))[-1]
        assert await departures.approve(work, organization, held) == 1

    assert await statuses(runtime, mara) == ["CANCELLED"]
    with pytest.raises(HeldDepartureNotFound):
        async with runtime.transaction(OPERATOR) as work:
            await departures.approve(work, organization, held)


@pytest.mark.parametrize("way", ["suspended", "removed", "suspended, then removed"])
async def test_an_administrator_rejects_what_waits(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization, way: str
) -> None:
    member_id = await suspend_many(provider, runtime, mara)
    if "suspended" in way:
        await provider.patch(member_id, SUSPEND_AS_TEXT)
    if "removed" in way:
        assert (await provider.send("DELETE", f"/Users/{member_id}")).status_code == 204
        assert (await provider.send("GET", f"/Users/{member_id}")).status_code == 404
    assert await statuses(runtime, mara) == ["CONFIRMED"]
    async with runtime.transaction(OPERATOR) as work:
        held = (await departures.list_held(work, organization))[-1]
        assert held.removed is ("removed" in way)
        await departures.reject(work, organization, held)

    assert await is_open(runtime, mara)
    assert await statuses(runtime, mara) == ["CONFIRMED"]
    user = await provider.read(member_id)
    assert (user["active"], user["userName"]) == (True, mara.email)


async def test_who_is_created_again_waits_for_nothing(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization
) -> None:
    member_id = await suspend_many(provider, runtime, mara)
    await provider.send("DELETE", f"/Users/{member_id}")
    await join(provider, mara)

    held = await departures.list_held(runtime.work(OPERATOR), organization)
    assert mara.email not in {each.email for each in held}
    assert await statuses(runtime, mara) == ["CONFIRMED"]


async def test_departures_of_another_hour_do_not_count(provider: Provider, runtime: Runtime, mara: User) -> None:
    member_id = await suspend_many(provider, runtime, mara)
    await runtime.pool.execute("update departures set at = at - $1::interval", timedelta(minutes=61))
    await provider.patch(member_id, SUSPEND_AS_TEXT)

    assert await statuses(runtime, mara) == ["CANCELLED"]


async def test_a_preview_tells_what_would_be_cancelled_and_changes_nothing(
    provider: Provider, runtime: Runtime, mara: User, organization: Organization
) -> None:
    await join(provider, mara)
    await book_one(runtime)
    await crowd(provider, 6)
    work = runtime.work(OPERATOR)
    everyone = await departures.preview(work, organization, [])
    one = await departures.preview(work, organization, [mara.email.upper()])

    assert [(each.email, each.counts.cancelled, each.is_held) for each in one] == [(mara.email, 1, False)]
    assert [each.is_held for each in everyone] == [False] * 5 + [True] * 2
    assert await statuses(runtime, mara) == ["CONFIRMED"]
    assert await is_open(runtime, mara)


async def test_a_preview_of_many_compares_each_member_once(
    runtime: Runtime, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    class Known(dict[str, Any]):
        def values(self) -> Any:
            asked.append(self)
            return super().values()

    async def list_many(*_: object, **__: object) -> list[Any]:
        return [
            SimpleNamespace(
                id=n, active=True, is_managed=False, user=SimpleNamespace(id=uuid4(), email=f"{n}@x.example", name="X")
            )
            for n in range(50)
        ]

    async def find_all(_: object, emails: list[str], known: dict[str, Any]) -> Known:
        return Known({each: known[each] for each in emails})

    monkeypatch.setattr("openslot.domains.people.departures.list_organization_members", list_many)
    monkeypatch.setattr(departures, "find_each", find_all)
    shown = await departures.preview(runtime.work(OPERATOR), organization, [f"{n}@x.example" for n in range(40)])

    assert len(shown) == 40
    assert len(asked) == 1


async def test_no_one_takes_a_strangers_bookings_by_ending_an_invitation(
    provider: Provider, runtime: Runtime, user: User, organization: Organization
) -> None:
    await provider.create(user.email)
    await book_one(runtime)
    async with runtime.transaction(OPERATOR) as work:
        await people.remove_member(work, organization, user)

    assert await statuses(runtime, user) == ["CONFIRMED"]
    assert await runtime.pool.fetchval("select count(*) from memberships") == 0
