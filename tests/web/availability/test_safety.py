"""No page about availability shows another host's data, takes another site's form, or turns text into markup."""

import httpx2
import pytest

from openslot.accounts.models import User
from openslot.core.work import Runtime
from openslot.routing import collect, find_declaration
from tests.support.forms import NOBODY, from_other_sites
from tests.support.host import TEN, Book
from tests.support.hostile_text import CORPUS, check_pages
from tests.support.page import read_page
from tests.web.availability.conftest import read_schedule
from tests.web.availability.support import fill

DAY = "2026-03-20"


def paths(method: str, *, schedule: object = NOBODY, away: object = NOBODY) -> list[str]:
    found = []
    for handler in collect(
        *(f"openslot.web.dashboard.{name}" for name in ("availability", "onboarding", "own_booking"))
    ):
        declaration = find_declaration(handler)
        assert declaration is not None
        if declaration.method == method:
            path = declaration.path.replace("{schedule_id}", str(schedule)).replace("{away_id}", str(away))
            found.append(path.replace("{day}", DAY).replace("{booking_id}", str(NOBODY)))
    return found


def test_every_form_is_known_here() -> None:
    assert (len(paths("GET")), len(paths("POST"))) == (16, 19)


async def test_a_form_of_another_site_is_refused_and_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    schedule, away = await fill(runtime, user)
    before = await read_schedule(runtime, user)
    sent = {"name": "Eve", "timezone": "UTC", "first": "2026-05-01", "kind": "closed", "act": "save"}
    for path, headers in from_other_sites(paths("POST", schedule=schedule.id, away=away)):
        answer = await member.post(path, data=sent, headers=headers)

        assert answer.status_code == 403, (path, headers)
        assert "sent from another site" in read_page(answer).text
    assert await read_schedule(runtime, user) == before
    assert await runtime.pool.fetchval("select count(*) from out_of_office") == 1
    assert await runtime.pool.fetchval("select welcome_step from users where id = $1", user.id) == 1


async def test_without_a_session_every_page_asks_to_sign_in(
    client: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    schedule, away = await fill(runtime, user)
    for path in paths("GET", schedule=schedule.id, away=away):
        assert (await client.get(path)).headers["location"].startswith("/login"), path
    for path in paths("POST", schedule=schedule.id, away=away):
        assert (await client.post(path, data={"name": "Eve"})).headers["location"].startswith("/login"), path


async def test_what_is_another_hosts_is_the_same_404_as_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    schedule, away = await fill(runtime, stranger)
    before = await read_schedule(runtime, stranger)
    sent = {"name": "Eve", "timezone": "UTC", "first": "2026-05-01", "kind": "closed", "act": "save"}
    seen = 0
    for method in ("GET", "POST"):
        known, unknown = paths(method, schedule=schedule.id, away=away), paths(method)
        for path, nothing in zip(known, unknown, strict=True):
            if path == nothing:
                continue
            answer = await member.request(method, path, data=sent if method == "POST" else None)
            other = await member.request(method, nothing, data=sent if method == "POST" else None)
            seen += 1

            assert answer.status_code == 404, path
            assert answer.text == other.text
    assert seen == 17
    assert await read_schedule(runtime, stranger) == before
    assert await runtime.pool.fetchval("select count(*) from out_of_office") == 1


@pytest.mark.parametrize("text", CORPUS)
async def test_stored_text_and_typed_text_stay_text(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book, text: str
) -> None:
    await book()
    schedule, away = await fill(runtime, user)
    await runtime.pool.execute("update schedules set name = $1", text)
    await runtime.pool.execute("update event_types set name = $1", text)
    await runtime.pool.execute("update out_of_office set reason = $1", text)
    await runtime.pool.execute(
        """insert into calendar_connections (id, owner_id, kind, server, label, secret, next_sync_at, created_at)
        values (gen_random_uuid(), $1, 'caldav', '', $2, '', $3, $3)""",
        user.id,
        text,
        TEN,
    )
    pages = [await member.get(path) for path in paths("GET", schedule=schedule.id, away=away)]
    pages.append(await member.get("/availability/why?day=2026-03-17&time=11:00"))
    pages.append(await member.get("/availability/why", params={"type": text, "day": text, "time": text}))
    typed = {
        **dict.fromkeys(("name", "timezone", "first", "last", "first_time", "last_time", "reason", "act"), text),
        **dict.fromkeys(("country", "region", "version", "address", "username", "password"), text),
        **dict.fromkeys(("d0.0.start", "d0.0.end", "d.0.start", "d.0.end", "works.0"), text),
    }
    for sent in (typed, {**typed, "act": "save"}):
        harmless = [path for path in paths("POST", schedule=schedule.id) if not path.endswith(("delete", "remove"))]
        pages += [await member.post(path, data=sent) for path in harmless if not path.endswith("calendar")]
    assert check_pages(pages) > 15
