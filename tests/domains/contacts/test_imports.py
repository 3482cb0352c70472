"""Importing files: what is added, what is refused, what stays, and who waits for whom."""

import asyncio
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.contacts import operations as contacts
from openslot.domains.contacts.errors import ImportAlreadyStarted, ImportLimitExceeded, ImportNotFound
from openslot.domains.contacts.imports import operations as imports
from openslot.domains.contacts.imports.models import ImportState, LineFault
from openslot.domains.contacts.reactions import tidy_imports
from openslot.domains.contacts.schemas import ContactWanted
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import EmailAddress, Name
from openslot.platform.core.work import Runtime
from tests.domains.contacts.conftest import Add, Events
from tests.support.contact_imports import (
    SKIP,
    bring_in,
    counts,
    many,
    read_import,
    read_people,
    run_imports,
    start,
    upload,
)

FILE = (
    "Name,Email,Phone,Company,Notes,Tags\n"
    'Ann Lee,ann@lee.example,+49 30 123456,Lee & Co,"Two\nlines","vip, ""a, b"""\n'
    "Bo Ray,Bo@Ray.example,0049 30 654321,,,\n"
)


async def test_a_file_becomes_contacts(runtime: Runtime, user: User, events: Events) -> None:
    done = await bring_in(runtime, user, FILE)
    people = await read_people(runtime, user)

    assert counts(done) == (2, 0, 0, 0)
    assert (done.state, done.handled, done.line_count) == (ImportState.DONE, 2, 2)
    ann, bo = people["ann@lee.example"], people["Bo@Ray.example"]
    assert (ann["name"], ann["phone"], ann["company"], ann["notes"]) == (
        "Ann Lee",
        "+4930123456",
        "Lee & Co",
        "Two\nlines",
    )
    assert (ann["tags"], bo["tags"], bo["phone"], bo["company"]) == (["vip", "a, b"], [], "+4930654321", None)
    found, _ = await contacts.list_contacts(runtime.work(SYSTEM), user, search="lee & co")
    assert [each.contact.email for each in found] == ["ann@lee.example"]
    happened = await events()
    assert [row["type"] for row in happened] == ["contact.created", "contact.created"]
    assert msgspec.json.decode(happened[0]["actor"])["user_id"] == str(user.id)


async def test_the_same_file_again_changes_nothing(runtime: Runtime, user: User, events: Events) -> None:
    await bring_in(runtime, user, FILE)
    before = await read_people(runtime, user)
    again = await bring_in(runtime, user, FILE.upper().replace("NAME,E-MAIL,PHONE,COMPANY", "Name,Email,-,-"), SKIP)
    same = await bring_in(runtime, user, FILE)
    louder = await bring_in(runtime, user, FILE.replace("ann@lee.example", "ANN@Lee.example"))

    assert counts(again) == counts(same) == counts(louder) == (0, 0, 2, 0)
    assert await read_people(runtime, user) == before
    assert len(await events()) == 2


async def test_known_people_are_updated_or_skipped(runtime: Runtime, user: User, add: Add, events: Events) -> None:
    await add(name="Noor", email="Noor@Haddad.example", company="Old", notes="Keep me")
    text = "Name,Email,Company,Notes\nNoor Haddad,noor@haddad.EXAMPLE,New,\n"
    skipped = await bring_in(runtime, user, text, SKIP)
    name = (await read_people(runtime, user))["Noor@Haddad.example"]["name"]
    updated = await bring_in(runtime, user, text)
    person = (await read_people(runtime, user))["Noor@Haddad.example"]

    assert (counts(skipped), name) == ((0, 0, 1, 0), "Noor")
    assert counts(updated) == (0, 1, 0, 0)
    assert (person["name"], person["company"], person["notes"]) == ("Noor Haddad", "New", "Keep me")
    assert [row["type"] for row in await events()] == ["contact.created", "contact.changed"]
    assert len(await read_people(runtime, user)) == 1


async def test_every_bad_line_is_kept_with_its_number_and_fault(runtime: Runtime, user: User) -> None:
    text = (
        "Name,Email,Phone\n"
        ",nobody@x.example,\n"
        "Ann,not an address,\n"
        "Bo,bo@x.example,12345\n"
        "Cy,cy@x.example\n"
        "Cyrus,CY@x.example,\n"
        '"Di"x,di@x.example\n'
        "Ed,ed@x.example,,1\n"
        "\x01Fy,fy@x.example,\n"
    )
    done = await bring_in(runtime, user, text)
    bad = await imports.list_bad_import_lines(runtime.work(SYSTEM), user, done.id, limit=100)

    assert counts(done) == (1, 0, 0, 7)
    assert list(await read_people(runtime, user)) == ["cy@x.example"]
    assert [(line.number, line.fault, line.first_line) for line in bad] == [
        (2, LineFault.FIELDS, None),
        (3, LineFault.FIELDS, None),
        (4, LineFault.FIELDS, None),
        (6, LineFault.DUPLICATE, 5),
        (7, LineFault.UNREADABLE, None),
        (8, LineFault.COLUMNS, None),
        (9, LineFault.FIELDS, None),
    ]
    # Nobody has to look at the others.
    assert await runtime.pool.fetchval("select count(*) from contact_import_lines") == 7


async def test_a_file_of_several_batches_finds_what_is_twice_in_it(
    runtime: Runtime, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 10)
    text = many(25) + "\nAgain,PERSON3@many.example\nNew,new@many.example"
    done = await bring_in(runtime, user, text)
    bad = await imports.list_bad_import_lines(runtime.work(SYSTEM), user, done.id, limit=9)

    listed, _ = await contacts.list_contacts(runtime.work(SYSTEM), user, limit=3)

    assert counts(done) == (26, 0, 0, 1)
    # Newest first: the last line of the file is the newest.
    assert [each.contact.name for each in listed] == ["New", "Person 24", "Person 23"]
    assert [(line.number, line.first_line) for line in bad] == [(27, 5)]


async def test_a_batch_that_was_rolled_back_is_repeated_and_one_that_was_committed_is_not(
    runtime: Runtime, user: User, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 10)
    started = await start(runtime, user, many(25))
    # The first batch is committed, and the worker dies before the effect is finished.
    async with runtime.transaction(SYSTEM) as work:
        assert await imports.import_batch(work, started.id)
    # The second dies in the middle.
    with pytest.raises(ZeroDivisionError):
        async with runtime.transaction(SYSTEM) as work:
            await imports.import_batch(work, started.id)
            raise ZeroDivisionError
    half = await read_import(runtime, user, started.id)
    await run_imports(runtime)
    done = await read_import(runtime, user, started.id)

    assert (half.handled, half.added, half.state) == (10, 10, ImportState.RUNNING)
    assert (counts(done), done.handled, done.state) == ((25, 0, 0, 0), 25, ImportState.DONE)
    assert len(await read_people(runtime, user)) == len(await events()) == 25


async def test_a_batch_of_a_finished_import_does_nothing(runtime: Runtime, user: User) -> None:
    done = await bring_in(runtime, user, FILE)
    async with runtime.transaction(SYSTEM) as work:
        assert not await imports.import_batch(work, done.id)
    assert await read_import(runtime, user, done.id) == done


async def test_two_files_with_the_same_people_at_once_add_nobody_twice(
    runtime: Runtime, user: User, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 7)
    lines = many(40).splitlines()
    forwards = await start(runtime, user, "\n".join(lines))
    backwards = await start(runtime, user, "\n".join([lines[0], *reversed(lines[1:])]))

    async def run(import_id: UUID) -> None:
        has_more = True
        while has_more:
            async with runtime.transaction(SYSTEM) as work:
                has_more = await imports.import_batch(work, import_id)

    await asyncio.gather(run(forwards.id), run(backwards.id))
    ends = [await read_import(runtime, user, each.id) for each in (forwards, backwards)]

    assert [each.state for each in ends] == [ImportState.DONE, ImportState.DONE]
    assert sum(each.added for each in ends) == 40
    assert sum(each.unchanged for each in ends) == 40
    assert len(await read_people(runtime, user)) == len(await events()) == 40


async def test_a_contact_that_somebody_adds_meanwhile_is_updated_instead(
    runtime: Runtime, user: User, events: Events
) -> None:
    await start(runtime, user, "Name,Email,Company\nAnn Lee,ann@lee.example,Lee\nBo,bo@x.example,\n")
    async with runtime.transaction(OPERATOR) as work:
        await contacts.add_contact(work, user, ContactWanted(name=Name("Ann"), email=EmailAddress("ANN@lee.example")))
        running = asyncio.create_task(run_imports(runtime))
        # It waits for this transaction, because both add the same address.
        while not await runtime.pool.fetchval("select count(*) from pg_locks where not granted"):
            await asyncio.sleep(0.01)
    await running
    people = await read_people(runtime, user)

    assert {email: row["name"] for email, row in people.items()} == {"ANN@lee.example": "Ann Lee", "bo@x.example": "Bo"}
    assert [row["type"] for row in await events()] == ["contact.created", "contact.created", "contact.changed"]


async def test_another_owners_contacts_and_imports_are_out_of_reach(
    runtime: Runtime, user: User, stranger: User, add: Add
) -> None:
    await add(name="Theirs", email="ann@lee.example", owner=stranger)
    draft = await upload(runtime, stranger, FILE + "too,many,values,1,2,3,4\n")
    mine = await bring_in(runtime, user, FILE)
    work = runtime.work(SYSTEM)

    assert counts(mine) == (2, 0, 0, 0)
    assert (await read_people(runtime, stranger))["ann@lee.example"]["name"] == "Theirs"
    assert await imports.list_imports(work, user) == [mine]
    assert await imports.list_import_sample(work, user, draft.id) == []
    assert await imports.list_bad_import_lines(work, user, draft.id, limit=9) == []
    assert len(await imports.list_bad_import_lines(work, stranger, draft.id, limit=9)) == 1
    with pytest.raises(ImportNotFound):
        await imports.get_import(work, user, draft.id)
    async with runtime.transaction(SYSTEM) as inside:
        with pytest.raises(ImportNotFound):
            await imports.start_import(inside, user, draft.id, columns=draft.columns, existing=SKIP)
        with pytest.raises(ImportNotFound):
            await imports.delete_import(inside, user, draft.id)
    assert await read_import(runtime, stranger, draft.id) == draft


async def test_an_import_is_started_once_and_with_columns_that_make_sense(runtime: Runtime, user: User) -> None:
    draft = await upload(runtime, user, "A,B\nAnn,ann@lee.example\n")
    wrong = {
        (): "Choose what each column contains",
        ("name", "nonsense"): "Choose what each column contains",
        ("email", "email"): "Choose each field for one column only",
        ("name", ""): "Choose the column with the email address",
        ("", "email"): "Choose the column with the name",
    }
    for columns, fault in wrong.items():
        async with runtime.transaction(SYSTEM) as work:
            with pytest.raises(Invalid) as refusal:
                await imports.start_import(work, user, draft.id, columns=columns, existing=SKIP)
        assert refusal.value.details == {"columns": fault}
    async with runtime.transaction(SYSTEM) as work:
        await imports.start_import(work, user, draft.id, columns=("last_name", "email"), existing=SKIP)
        with pytest.raises(ImportAlreadyStarted):
            await imports.start_import(work, user, draft.id, columns=("name", "email"), existing=SKIP)
    await run_imports(runtime)
    assert (await read_people(runtime, user))["ann@lee.example"]["name"] == "Ann"


async def test_only_so_many_imports_wait_and_run(runtime: Runtime, user: User, stranger: User) -> None:
    for _ in range(imports.MAX_RUNNING):
        await start(runtime, user, FILE)
    with pytest.raises(ImportLimitExceeded):
        await start(runtime, user, FILE)
    for _ in range(imports.MAX_UNFINISHED - imports.MAX_RUNNING - 1):
        await upload(runtime, user, FILE)
    with pytest.raises(ImportLimitExceeded):
        await upload(runtime, user, FILE)
    assert (await upload(runtime, stranger, FILE)).owner_id == stranger.id
    await run_imports(runtime)
    assert (await upload(runtime, user, FILE)).owner_id == user.id


async def test_uploads_at_the_same_moment_do_not_pass_the_limit(runtime: Runtime, user: User) -> None:
    tries = [upload(runtime, user, FILE) for _ in range(imports.MAX_UNFINISHED + 4)]
    ends = await asyncio.gather(*tries, return_exceptions=True)

    assert sum(isinstance(each, ImportLimitExceeded) for each in ends) == 4


async def test_only_the_newest_imports_are_kept(runtime: Runtime, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "MAX_KEPT", 2)
    ids = [(await bring_in(runtime, user, FILE)).id for _ in range(3)]
    await upload(runtime, user, FILE)

    rows = await runtime.pool.fetch("select id from contact_imports where state = 'done' order by id")
    assert [row["id"] for row in rows] == ids[1:]


async def test_a_deleted_import_stops_and_its_contacts_stay(
    runtime: Runtime, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 10)
    started = await start(runtime, user, many(25))
    async with runtime.transaction(SYSTEM) as work:
        await imports.import_batch(work, started.id)
    async with runtime.transaction(SYSTEM) as work:
        await imports.delete_import(work, user, started.id)
    await run_imports(runtime)

    assert len(await read_people(runtime, user)) == 10
    assert await runtime.pool.fetchval("select count(*) from contact_import_lines") == 0
    assert (
        await runtime.pool.fetchval("select state from effects where reaction = $1", imports.CONTACT_IMPORT) == "done"
    )


async def test_old_imports_are_removed_with_their_lines(runtime: Runtime, user: User) -> None:
    work = runtime.work(SYSTEM)
    ages = {
        "done, young": (imports.DONE_KEPT_FOR - timedelta(hours=1), True),
        "done, old": (imports.DONE_KEPT_FOR + timedelta(hours=1), True),
        "draft, young": (imports.IDLE_KEPT_FOR - timedelta(hours=1), False),
        "draft, old": (imports.IDLE_KEPT_FOR + timedelta(hours=1), False),
    }
    for name, (age, is_done) in ages.items():
        made = await (bring_in if is_done else upload)(runtime, user, FILE.replace("Ann Lee", ""))
        await runtime.pool.execute(
            "update contact_imports set file_name = $2, updated_at = $3 where id = $1", made.id, name, work.now - age
        )

    assert await tidy_imports(work) == "2 imports removed"
    rows = await runtime.pool.fetch("select file_name from contact_imports order by file_name")
    assert [row["file_name"] for row in rows] == ["done, young", "draft, young"]
    assert await runtime.pool.fetchval("select count(*) from contact_import_lines") == 3
