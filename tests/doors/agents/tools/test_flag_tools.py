"""Tools on feature flags."""

import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.errors import Invalid, Refusal
from openslot.platform.core.ids import new_id
from openslot.platform.core.times import iso
from openslot.platform.core.work import Runtime
from tests.doors.agents.tools.conftest import Run, events

NOBODY = str(new_id())


async def test_list_flags_shows_every_flag_of_the_database(run: Run, runtime: Runtime) -> None:
    rows = await runtime.pool.fetch("select key, description, enabled, updated_at from flags order by key")
    wanted = [
        {
            "key": row["key"],
            "description": row["description"],
            "enabled": row["enabled"],
            "overrideCount": 0,
            "updatedAt": iso(row["updated_at"]),
        }
        for row in rows
    ]

    assert len(wanted) == 5
    assert (await run("list_flags"))["data"] == wanted
    assert [row["key"] for row in (await run("list_flags", search="CALENDAR"))["data"]] == [
        row["key"] for row in rows if "calendar" in (row["key"] + row["description"]).lower()
    ]
    assert (await run("list_flags", search="%"))["data"] == []


async def test_toggle_flag_switches_it_for_everyone(run: Run, runtime: Runtime, user: User) -> None:
    toggled = await run("toggle_flag", key="mail_reminders", enabled=False)

    assert toggled["enabled"] is False
    assert await runtime.pool.fetchval("select enabled from flags where key = 'mail_reminders'") is False
    assert (await run("get_flag", key="mail_reminders")) == toggled
    assert (await run("check_flag", key="mail_reminders", userId=str(user.id)))["enabled"] is False
    assert await events(runtime, "flag.toggled") == [{"key": "mail_reminders", "enabled": False}]


async def test_an_override_is_set_shown_and_removed(run: Run, runtime: Runtime, user: User, admin: User) -> None:
    which = {"key": "booking_holds", "userId": str(user.id)}
    answer = await run("set_flag_override", **which, enabled=False)

    assert answer == {**which, "enabled": False, "source": "override"} == await run("check_flag", **which)
    assert (await run("check_flag", key="booking_holds", userId=str(admin.id)))["source"] == "everyone"
    flag = await run("get_flag", key="booking_holds")
    assert (flag["enabled"], flag["overrideCount"]) == (True, 1)
    assert [(each["userId"], each["enabled"]) for each in flag["overrides"]] == [(str(user.id), False)]
    assert len(await events(runtime, "flag.override_set")) == 1

    assert await run("remove_flag_override", **which) == {**which, "enabled": True, "source": "everyone"}
    assert await runtime.pool.fetchval("select count(*) from flag_overrides") == 0
    assert len(await events(runtime, "flag.override_removed")) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("get_flag", {"key": "nothing"}, "key"),
        ("check_flag", {"key": "nothing", "userId": "mara"}, "key"),
        ("check_flag", {"key": "booking_holds", "userId": NOBODY}, "userId"),
        ("toggle_flag", {"key": "nothing", "enabled": True}, "key"),
        ("set_flag_override", {"key": "booking_holds", "userId": NOBODY, "enabled": True}, "userId"),
        ("set_flag_override", {"key": "nothing", "userId": "mara", "enabled": True}, "key"),
        ("remove_flag_override", {"key": "booking_holds", "userId": NOBODY}, "userId"),
    ],
)
async def test_what_does_not_exist_is_named(
    run: Run, user: User, name: str, arguments: dict[str, object], field: str
) -> None:
    given = {key: str(user.id) if value == "mara" else value for key, value in arguments.items()}
    with pytest.raises(Refusal) as refused:
        await run(name, **given)

    assert refused.value.details == {field: "does not exist"}


async def test_wrong_arguments_are_named(run: Run) -> None:
    with pytest.raises(Invalid) as refused:
        await run("set_flag_override", key=7, userId="mara", enabled="yes", other=1)

    assert refused.value.details == {
        "key": "must be a string, not an integer",
        "userId": "must be a UUID",
        "enabled": "must be true or false, not a string",
        "other": "is not a known field",
    }
