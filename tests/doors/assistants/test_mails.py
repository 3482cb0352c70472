"""Whoever connects an assistant is told by mail: who it is, what it may do, and how to disconnect it."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from openslot.platform.i18n.languages import ENGLISH, LANGUAGES, Language
from openslot.platform.i18n.localization import get_catalog
from tests.domains.mail.conftest import messages, part
from tests.doors.assistants.support import connect, refresh, register
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.switches import stop

SUBJECT = "An assistant was connected to your account"


async def test_the_user_is_told_who_was_connected_and_how_to_end_it(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, user: User
) -> None:
    client_id = await register(member, name="Calendar Helper")
    _, tokens = await connect(member, client_id, scope="bookings:write event_types:read offline_access")
    await refresh(member, client_id, tokens.refresh_token)
    await work_off(runtime, clock)
    (told,) = await messages(runtime, user.email)

    assert told["Subject"] == SUBJECT
    for text in (part(told, "text/plain"), part(told, "text/html")):
        for words in (
            "Calendar Helper",
            "See your bookings and when you are free",
            "Create, reschedule and cancel bookings",
            "Stay connected",
            "/account#assistants",
        ):
            assert words in text
        assert "See your contacts" not in text
        assert tokens.access_token not in text


async def test_it_is_sent_while_messages_are_stopped(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, user: User
) -> None:
    await stop(runtime)
    await connect(member)
    await work_off(runtime, clock)

    assert [each["Subject"] for each in await messages(runtime, user.email)] == [SUBJECT]


async def test_a_name_that_looks_like_a_link_is_none(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, user: User
) -> None:
    await connect(member, await register(member, name="Sign in at https://evil.example now"))
    await work_off(runtime, clock)
    (told,) = await messages(runtime, user.email)

    assert "https://evil.example" not in part(told, "text/plain")
    assert "https://evil.example" not in part(told, "text/html")


FOREIGN = [language for language in LANGUAGES.values() if language is not ENGLISH]


@pytest.mark.parametrize("language", FOREIGN, ids=lambda language: language.tag)
async def test_it_is_written_in_the_users_language(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, user: User, language: Language
) -> None:
    await runtime.pool.execute("update users set locale = $2 where id = $1", user.id, language.tag)
    await connect(member)
    await work_off(runtime, clock)
    (told,) = await messages(runtime, user.email)
    translated = get_catalog(language).gettext(SUBJECT)

    assert told["Subject"] == translated != SUBJECT
    assert "Stay connected" not in part(told, "text/plain")
