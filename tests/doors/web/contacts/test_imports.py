"""Importing through the pages: upload, columns, progress, result, and the lines that were not imported."""

import asyncio
import csv
from io import StringIO

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.contacts.imports import operations as imports
from openslot.domains.contacts.imports.csv_files import MAX_BYTES
from openslot.doors.web.dashboard.contacts.imports import UPLOADS
from openslot.platform.core.work import Runtime
from tests.doors.web.contacts.conftest import Import, read_choices, upload
from tests.support.contact_imports import read_people, run_imports
from tests.support.page import read_page

FILE = "Vorname;Nachname;E-Mail;Telefon;Geburtstag\nZoë;Müller;zoe@mueller.example;+49 30 123456;1.1.\n"
BAD = (
    "Name,Email,Phone\n"
    ",nobody,030\n"
    "Ann,ann@x.example,\n"
    "Bo,ANN@x.example,\n"
    "Cy,cy@x.example,=1+1,4\n"
    '"Di"x,di@x.example,\n'
)


async def test_columns_are_guessed_shown_and_corrected(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    sent = await upload(member, FILE.encode("cp1252"))
    path = sent.headers["location"]
    draft = (await member.get(path)).text

    assert sent.status_code == 303
    assert read_choices(draft) == ["first_name", "last_name", "email", "phone", "none"]
    assert "read as Windows-1252, separated by semicolons" in draft
    assert "Check that letters with accents are right" in draft
    assert "<bdi>Zoë</bdi>" in draft
    assert await read_people(runtime, user) == {}
    await member.post(f"{path}/start", data={"column": ["none", "name", "email", "none", "notes"], "existing": "skip"})
    running = (await member.get(path)).text
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in running
    assert '<progress max="1" value="0"' in running
    await run_imports(runtime)
    assert "Import finished" in read_page(await member.get(path)).headings
    person = (await read_people(runtime, user))["zoe@mueller.example"]
    assert (person["name"], person["phone"], person["notes"]) == ("Müller", None, "1.1.")


async def test_a_file_in_utf_8_needs_no_warning(member: httpx2.AsyncClient) -> None:
    draft = (await member.get((await upload(member, FILE.encode("utf-8-sig"))).headers["location"])).text

    assert "read as UTF-8" in draft
    assert "Windows-1252" not in draft


WRONG_FILES: list[tuple[bytes, str]] = [
    (b"", "Must not be empty"),
    (b"\x89PNG\r\n\x1a\n\x00\x00\x00\x00\x00", "Is not a CSV file"),
    (b"PK\x03\x04", "Is a workbook."),
    (b"Name,Email\n", "Has no lines below the names of its columns"),
    (b"n\n" + b"x\n" * 20_001, "Must have at most 20,000 lines."),
    (b"a" * (MAX_BYTES + 1), "Must not be larger than 5 MB"),
]


async def test_what_is_wrong_with_a_file_stands_at_its_field(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    for body, fault in WRONG_FILES:
        answer = await upload(member, body)

        assert answer.status_code == 400, fault
        assert read_page(answer).faults["file"].startswith(fault), fault
        assert await runtime.pool.fetchval("select count(*) from contact_imports") == 0, fault


async def test_a_form_without_a_file_and_one_that_is_far_too_large_are_refused(member: httpx2.AsyncClient) -> None:
    empty = await member.post("/contacts/import", files={"file": ("", b"", "application/octet-stream")})
    # The answer comes before the file is sent; a client that goes on sending may not see it.
    reader, writer = await asyncio.open_connection(member.base_url.host, member.base_url.port)
    head = {
        "Host": "127.0.0.1",
        "Cookie": member.headers["cookie"],
        "Content-Type": "multipart/form-data; boundary=x",
        "Content-Length": str(MAX_BYTES + 128 * 1024),
    }
    writer.write(b"POST /contacts/import HTTP/1.1\r\n")
    writer.write("".join(f"{name}: {value}\r\n" for name, value in head.items()).encode() + b"\r\n")
    huge = await reader.readline()
    writer.close()

    assert (empty.status_code, "Choose a file</p>" in empty.text) == (400, True)
    assert b" 413 " in huge


SENSELESS: list[tuple[list[str], str]] = [
    (["name", "none", "none"], "Choose the column with the email address"),
    (["none", "email", "none"], "Choose the column with the name"),
    (["name", "email", "email"], "Choose each field for one column only"),
    (["name", "email"], "Choose what each column contains"),
    (["name", "email", "owner_id"], "Choose what each column contains"),
    ([], "Choose what each column contains"),
]


async def test_columns_that_make_no_sense_are_refused_and_kept(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    path = (await upload(member, BAD.encode())).headers["location"]
    for columns, fault in SENSELESS:
        answer = await member.post(f"{path}/start", data={"column": columns, "existing": "skip"})

        assert answer.status_code == 400, (columns, fault)
        assert fault in read_page(answer).faults["columns"], (columns, fault)
        assert 'value="skip" checked' in answer.text, (columns, fault)
        if len(columns) == 3 and "owner_id" not in columns:
            assert read_choices(answer.text) == columns, (columns, fault)
        assert await runtime.pool.fetchval("select state from contact_imports") == "draft", (columns, fault)


async def test_the_result_counts_everything_and_names_every_bad_line(member: httpx2.AsyncClient, bring: Import) -> None:
    path = await bring(BAD)
    text = (await member.get(path)).text

    for word, count in {"Added": 1, "Updated": 0, "Unchanged": 0, "Not imported": 4}.items():
        assert f"<dt>{word}</dt><dd>{count}</dd>" in text
    for problem in (
        "Name: must not be empty",
        "Email address: is not a valid email address",
        "Phone number: must begin with + and the country code",
        "The email address is the same as in line 3",
        "The line has more values than there are columns",
        "A quotation mark is missing or in the wrong place",
    ):
        assert problem in text
    assert "<bdi>,nobody,030</bdi>" in text
    assert "<bdi>&#34;Di&#34;x,di@x.example,</bdi>" in text


async def test_bad_lines_are_read_in_the_readers_language(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, bring: Import
) -> None:
    path = await bring(BAD)
    await runtime.pool.execute("update users set locale = 'de' where id = $1", user.id)

    assert "E-Mail-Adresse: ist keine gültige E-Mail-Adresse" in read_page(await member.get(path)).text


async def test_bad_lines_can_be_downloaded_corrected_and_imported(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, bring: Import
) -> None:
    path = await bring(BAD.replace("030", "'+4930"))
    answer = await member.get(f"{path}/bad-lines.csv")
    rows = list(csv.reader(StringIO(answer.text.removeprefix("\ufeff"))))

    assert answer.headers["content-disposition"] == "attachment; filename=bad-lines-2026-03-16.csv"
    assert rows[0] == ["Line", "Problem", "Name", "Email", "Phone"]
    assert [row[0] for row in rows[1:]] == ["2", "4", "5", "6"]
    assert rows[1][2:] == ["", "nobody", "'+4930"]
    assert rows[3] == ["5", "The line has more values than there are columns", "Cy", "cy@x.example", "'=1+1", "4"]
    corrected = "Line,Problem,Name,Email,Phone\n" + ",".join([*rows[1][:2], "Nobody", "no@x.example", "'+49 30 123456"])
    await bring(corrected)
    assert (await read_people(runtime, user))["no@x.example"]["phone"] == "+4930123456"


async def test_many_bad_lines_have_pages_and_are_all_in_the_file(member: httpx2.AsyncClient, bring: Import) -> None:
    path = await bring("Name,Email\n" + "".join(f"P{n},bad{n}\n" for n in range(120)))
    first, last = (await member.get(path)).text, (await member.get(f"{path}?page=3")).text
    file = (await member.get(f"{path}/bad-lines.csv")).text

    assert ("bad49<" in first, "bad50<" in first, "Page 1 of 3" in first) == (True, False, True)
    assert ("bad119<" in last, "bad99<" in last) == (True, False)
    assert file.count("bad") == 120


async def test_an_import_can_be_discarded_and_is_started_once(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    path = (await upload(member, FILE.encode())).headers["location"]
    assert "Nothing has been imported from this file yet." in read_page(await member.get(f"{path}/delete")).text
    data = {"column": read_choices((await member.get(path)).text), "existing": "update"}
    assert (await member.post(f"{path}/start", data=data)).headers["location"] == path
    assert (await member.post(f"{path}/start", data=data)).headers["location"] == path
    assert await runtime.pool.fetchval("select count(*) from effects where reaction = 'contacts.import'") == 1
    assert "The import stops." in read_page(await member.get(f"{path}/delete")).text
    await run_imports(runtime)
    assert "Your contacts stay." in read_page(await member.get(f"{path}/delete")).text
    gone = await member.post(f"{path}/delete")
    assert "The import was deleted." in read_page(await member.get(gone.headers["location"])).notices[0]
    assert (await member.get(path)).status_code == 404
    assert await runtime.pool.fetchval("select count(*) from contacts") == 1


async def test_too_many_imports_are_refused_where_they_begin(
    member: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "MAX_UNFINISHED", 2)
    monkeypatch.setattr(imports, "MAX_RUNNING", 1)
    paths = [(await upload(member, FILE.encode())).headers["location"] for _ in range(2)]
    third = await upload(member, FILE.encode())
    data = {"column": read_choices((await member.get(paths[0])).text)}
    started = [await member.post(f"{path}/start", data=data) for path in paths]

    assert (third.status_code, "Other imports are not finished yet" in read_page(third).faults["file"]) == (400, True)
    assert [answer.status_code for answer in started] == [303, 400]
    assert "Other imports are not finished yet" in read_page(started[1]).faults["columns"]


async def test_the_list_of_imports_shows_each_with_its_state(member: httpx2.AsyncClient, bring: Import) -> None:
    await bring(FILE)
    await upload(member, FILE.encode(), name='dra"ft<b>.csv')
    text = (await member.get("/contacts/import")).text

    assert "Finished" in text
    assert "Not started" in text
    assert "<b>" not in text


async def test_uploads_are_limited_also_if_files_are_refused(member: httpx2.AsyncClient, runtime: Runtime) -> None:
    files = {"file": ("empty.csv", b" ", "text/csv")}
    await runtime.pool.execute(
        """insert into rate_log (bucket, stamps, taken)
        values ($1, array_fill((extract(epoch from clock_timestamp()) * 1000000)::bigint, array[$2::int]), 1)""",
        f"{UPLOADS.name}:127.0.0.1",
        UPLOADS.max_ - 1,
    )
    codes = [(await member.post("/contacts/import", files=files)).status_code for _ in range(2)]

    assert codes == [400, 429]
