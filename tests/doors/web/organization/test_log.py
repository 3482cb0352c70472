"""The change log: a line for every form that changes something, readable, searchable and without secrets."""

import csv
import io
import re
from datetime import timedelta

import httpx2
import pytest

from openslot.domains.change_log.models import ChangeAction, ChangeAuthor, ChangeFilter, NewChange
from openslot.domains.change_log.operations import list_changes, log_change, tidy_change_log
from openslot.doors.web.shared.changes import ACTIONS, FIELDS, PLATFORM_ACTIONS
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.work import Runtime
from openslot.platform.routing import collect, find_declaration
from tests.doors.web.organization.conftest import Harbor, act_as, count_changes
from tests.doors.web.organization.driving import fill, set_stage
from tests.support.clocks import MovingClock
from tests.support.host import Book
from tests.support.name_server import FakeResolver
from tests.support.page import read_page

# A choice of one's own and a message to one's own phone, which change nothing for others.
UNLOGGED = {"/organization/switch", "/organization/messages/{connection_id}/test"}
# The log of the organization is gone then; the line is in the platform's (test_deleting.py).
ELSEWHERE = {"/organization/delete"}
# They need a Stripe or a Twilio (tests/domains/payments/test_pages.py, tests/domains/messaging/pages).
WITH_VENDOR = {
    "/organization/payments",
    "/organization/messages",
    "/organization/messages/{connection_id}/token",
}


def forms() -> list[str]:
    declared = [find_declaration(handler) for handler in collect("openslot.doors.web.organization")]
    return [each.path for each in declared if each is not None and each.method == "POST"]


@pytest.mark.rest("opens every page or sends every form")
async def test_every_form_leaves_a_line(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book
) -> None:
    for template in [path for path in forms() if path not in UNLOGGED | ELSEWHERE | WITH_VENDOR]:
        # One form decides about all departures that wait, with a line for each.
        await runtime.pool.execute("delete from held_departures")
        stage = await set_stage(runtime, harbor, resolver, book)
        before = await count_changes(runtime)
        data = {"organization": str(harbor.organization.id), **fill(template)}
        answer = await owner.post(stage.path(template), data=data)
        row = await runtime.pool.fetchrow("select * from change_log order by id desc limit 1")

        assert answer.status_code in {200, 303}, (template, answer.text)
        assert await count_changes(runtime) == before + 1, template
        assert row is not None
        assert (row["actor_id"], row["actor_name"], row["actor_email"]) == (
            harbor.owner.id,
            harbor.owner.name,
            harbor.owner.email,
        ), template
        assert (row["address"], row["scope"]) == ("127.0.0.1", "organization"), template
        shown = await owner.get("/organization/log")
        assert str(ACTIONS[row["action"]]) in shown.text or template == "/organization/new", template


def test_every_action_and_field_has_words() -> None:
    words = {**ACTIONS, **PLATFORM_ACTIONS}
    assert set(words) == set(ChangeAction)
    assert len(set(map(str, words.values()))) == len(words) == len(ACTIONS) + len(PLATFORM_ACTIONS)
    assert all(FIELDS)


async def test_a_change_of_role_says_before_and_after(owner: httpx2.AsyncClient, harbor: Harbor) -> None:
    await owner.post(
        f"/organization/members/{harbor.id_of(harbor.member)}/role", data={"role": "admin", "confirmed": "yes"}
    )
    shown = re.sub(r"<[^>]+>|\s+", " ", (await owner.get("/organization/log")).text)
    shown = re.sub(" +", " ", shown)

    assert "Role changed mara@harbor.example" in shown
    assert "Role Member → then Administrator" in shown
    assert "Olga Lind 127.0.0.1" in shown


async def test_the_log_never_holds_a_token(owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> None:
    del harbor
    made = await owner.post("/organization/provisioning/tokens", data={"name": "Okta", "expires": "never"})
    found = re.search(r"svc_scim_\w+", made.text)
    assert found is not None
    for table in ("change_log", "events", "effects", "scim_tokens"):
        rows = await runtime.pool.fetch(f"select t::text as line from {table} t")
        assert not any(found[0] in row["line"] for row in rows), table
    assert found[0] not in (await owner.get("/organization/log")).text
    assert found[0] not in (await owner.get("/organization/provisioning")).text


async def test_a_refused_change_leaves_no_line(owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor) -> None:
    member = harbor.id_of(harbor.owner)
    answers = [
        await owner.post(f"/organization/members/{member}/role", data={"role": "member"}),
        await owner.post(f"/organization/members/{member}/role", data={"role": "emperor"}),
        await owner.post("/organization/domains", data={"domain": "beacon..example"}),
        await owner.post("/organization/settings/names", data={"name": "", "slug": "beacon"}),
        await owner.post("/organization/settings/names", data={"name": "Harbor", "slug": "beacon"}),
    ]

    assert [answer.status_code for answer in answers] == [409, 400, 400, 400, 400]
    assert await count_changes(runtime) == 0


async def test_filters_narrow_the_log_and_pages_turn(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor, clock: MovingClock
) -> None:
    author = ChangeAuthor(name="Olga Lind", email="olga@harbor.example")
    for number in range(120):
        async with runtime.transaction(OPERATOR) as work:
            await log_change(
                work,
                NewChange(
                    action=ChangeAction.DOMAIN_ADDED if number % 2 else ChangeAction.ROLE_CHANGED,
                    author=author,
                    subject=f"thing-{number:03}",
                    organization_id=harbor.organization.id,
                ),
            )
        clock.now += timedelta(hours=1)
    await act_as(owner, runtime, harbor.owner)
    first = await owner.get("/organization/log")
    older = re.search(r'rel="next" href="([^"]+)"', first.text)
    assert older is not None
    second = await owner.get(older[1].replace("&amp;", "&"))

    assert [name for name in ("thing-119", "thing-070", "thing-069") if name in first.text] == [
        "thing-119",
        "thing-070",
    ]
    assert [name for name in ("thing-070", "thing-069", "thing-020") if name in second.text] == [
        "thing-069",
        "thing-020",
    ]
    for query, names in (
        ("q=THING-007", ["thing-007"]),
        ("q=olga&action=domain.added&to=2026-03-16", ["thing-015", "thing-001"]),
        ("from=2026-03-20&to=2026-03-20", ["thing-111", "thing-088"]),
    ):
        found = re.findall(r"thing-\d{3}", (await owner.get(f"/organization/log?{query}")).text)
        assert [found[0], found[-1]] == [names[0], names[-1]], query
    wrong = await owner.get("/organization/log?from=tomorrow")
    assert (wrong.status_code, "Must be a date" in read_page(wrong).faults["from"]) == (400, True)
    assert "No change matches" in read_page(await owner.get("/organization/log?q=zzz")).text
    for odd in ("before=x", "before=99999999999999999999", "q=%00", "action=%F0%9F%98%80"):
        assert (await owner.get(f"/organization/log?{odd}")).status_code == 200


async def test_the_csv_has_what_the_page_has_and_no_formula(
    owner: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await log_change(
            work,
            NewChange(
                action=ChangeAction.MEMBER_INVITED,
                author=ChangeAuthor(name="=cmd()", email="olga@harbor.example", address="192.0.2.7"),
                subject="@guest",
                organization_id=harbor.organization.id,
                after={"role": "member"},
            ),
        )
    answer = await owner.get("/organization/log.csv?q=guest")
    rows = list(csv.reader(io.StringIO(answer.text.lstrip("\ufeff"))))

    assert answer.headers["content-disposition"] == "attachment; filename=changes-2026-03-16.csv"
    assert rows[0][:3] == ["Time", "Time zone", "Who"]
    assert rows[1] == [
        "2026-03-16 08:00:00",
        "Europe/Berlin",
        "'=cmd()",
        "olga@harbor.example",
        "192.0.2.7",
        "Member invited",
        "'@guest",
        "",
        "Role: Member",
    ]


async def test_a_line_is_written_only_with_its_change(runtime: Runtime, harbor: Harbor) -> None:
    change = NewChange(
        action=ChangeAction.DOMAIN_ADDED,
        author=ChangeAuthor(name="x"),
        subject="y",
        organization_id=harbor.organization.id,
        before={"name": "a", "slug": "s"},
        after={"name": "b", "slug": "s"},
    )
    with pytest.raises(RuntimeError, match="transaction"):
        await log_change(runtime.work(OPERATOR), change)
    with pytest.raises(ValueError, match="undone"):
        async with runtime.transaction(OPERATOR) as work:
            await log_change(work, change)
            raise ValueError("undone")
    assert await count_changes(runtime) == 0
    async with runtime.transaction(OPERATOR) as work:
        await log_change(work, change)
    (line,) = await list_changes(runtime.work(OPERATOR), harbor.organization.id, ChangeFilter())

    assert (line.before, line.after) == ({"name": "a"}, {"name": "b"})


async def test_organizations_and_the_platform_have_logs_of_their_own(runtime: Runtime, harbor: Harbor) -> None:
    for number, organization_id in enumerate((harbor.organization.id, harbor.other.id, None)):
        async with runtime.transaction(OPERATOR) as work:
            await log_change(
                work,
                NewChange(
                    action=ChangeAction.DOMAIN_ADDED,
                    author=ChangeAuthor(name="x"),
                    subject=str(number),
                    organization_id=organization_id,
                ),
            )
    work = runtime.work(OPERATOR)
    for number, organization_id in enumerate((harbor.organization.id, harbor.other.id, None)):
        lines = await list_changes(work, organization_id, ChangeFilter())
        assert [line.subject for line in lines] == [str(number)]


async def test_lines_are_kept_for_two_years(runtime: Runtime, harbor: Harbor, clock: MovingClock) -> None:
    for days in (731, 729):
        clock.now -= timedelta(days=days)
        async with runtime.transaction(OPERATOR) as work:
            change = NewChange(
                action=ChangeAction.DOMAIN_ADDED,
                author=ChangeAuthor(name="x"),
                subject=str(days),
                organization_id=harbor.organization.id,
            )
            await log_change(work, change)
        clock.now += timedelta(days=days)

    assert await tidy_change_log(runtime.work(SYSTEM)) == "1 changes removed"
    assert await runtime.pool.fetchval("select subject from change_log") == "729"
