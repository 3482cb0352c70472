"""Files as programs write them: encodings, delimiters, quotation marks, and what is refused."""

import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslot.domains.contacts.imports import csv_files
from openslot.domains.contacts.imports.csv_files import (
    COLUMN_NAMES,
    MAX_BYTES,
    MAX_CELLS,
    MAX_COLUMNS,
    MAX_DELIMITERS,
    MAX_LINES,
    MAX_ROWS,
    guess_columns,
    read_cell,
    read_file,
    write_cell,
)
from openslot.domains.contacts.imports.models import LineFault
from openslot.domains.contacts.models import CONTACT_FIELDS
from openslot.platform.core.errors import Invalid
from openslot.platform.i18n.languages import LANGUAGES, Locale
from openslot.platform.i18n.localization import localize
from tests.support.hangs import within_a_second
from tests.support.some import some_cases

TEXT = "Name,E-mail\nZoë Müller,zoe@mueller.example\n"


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (TEXT.encode("utf-8-sig"), "utf-8"),
        (TEXT.encode("utf-16"), "utf-16"),
        (TEXT.encode("utf-16-le"), "utf-16"),
        (TEXT.encode("utf-16-be"), "utf-16"),
        (TEXT.encode("cp1252"), "windows-1252"),
    ],
)
def test_every_usual_encoding_is_read(body: bytes, encoding: str) -> None:
    file = read_file(body)

    assert (file.encoding, file.header) == (encoding, ("Name", "E-mail"))
    assert file.lines[0].cells == ("Zoë Müller", "zoe@mueller.example")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_every_delimiter_and_line_ending_is_read(delimiter: str, ending: str) -> None:
    rows = [["Name, first", "E-mail", "Notes"], ["Li", "li@x.example", '"a\nb; c"']]
    file = read_file(ending.join(delimiter.join(row) for row in rows).replace("Name, first", '"Name, first"').encode())

    assert file.delimiter == delimiter
    assert file.header == ("Name, first", "E-mail", "Notes")
    assert file.lines[0].cells == ("Li", "li@x.example", "a\nb; c")


def test_the_hint_for_excel_is_not_a_line() -> None:
    file = read_file(b"sep=;\nName;E-mail\nA, B;a@x.example")

    assert (file.delimiter, [(line.number, line.cells) for line in file.lines]) == (";", [(3, ("A, B", "a@x.example"))])


def test_a_line_has_the_number_at_which_it_begins() -> None:
    file = read_file(b'Name,E-mail\n\n"A\nB",a@x.example\n \n,\nC,c@x.example\n')

    assert [(line.number, line.cells[0]) for line in file.lines] == [(3, "A\nB"), (7, "C")]


def test_every_kind_of_line_break_in_a_cell_is_one_character() -> None:
    file = read_file(b'Name,E-mail\r\n"A\r\nB\rC\nD",a@x.example\r\n"E\r\n')

    assert file.lines[0].cells == ("A\nB\nC\nD", "a@x.example")
    assert file.lines[1].cells == ('"E',)


def test_a_file_without_names_of_columns_begins_with_a_person() -> None:
    file = read_file(b"Ann,ann@x.example\nBob,bob@x.example,+4930123456\n")

    assert file.header == ("", "", "")
    assert guess_columns(file.header, file.lines[0].cells) == ("", "email", "")
    assert len(file.lines) == 2


def test_lines_that_cannot_be_read_are_kept_with_their_fault() -> None:
    text = (
        'Name,E-mail\n"Bo "the man" B",bo@x.example\nCy,cy@x.example,1,2\nDi,di@x.example,,\n"Ed,ed@x.example\nFy,fy@'
    )
    file = read_file(text.encode())

    assert [(line.number, line.fault) for line in file.lines] == [
        (2, LineFault.UNREADABLE),
        (3, LineFault.COLUMNS),
        (4, None),
        (5, LineFault.UNREADABLE),
    ]
    assert file.lines[0].cells == ('"Bo "the man" B",bo@x.example',)
    assert file.lines[2].cells == ("Di", "di@x.example")
    assert file.lines[3].cells == ('"Ed,ed@x.example\nFy,fy@',)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "must not be empty"),
        (b" \r\n\n ", "must not be empty"),
        (b"\xef\xbb\xbf", "must not be empty"),
        (b"Name,E-mail\n", "has no lines below the names of its columns"),
        (b"PK\x03\x04rest", "is a workbook. Save it as CSV in your spreadsheet program, and choose that file"),
        (b"\xd0\xcf\x11\xe0rest", "is a workbook. Save it as CSV in your spreadsheet program, and choose that file"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\x00\x00", "is not a CSV file"),
        (b"a" * 2000 + b"\x00", "is not a CSV file"),
        (b"\x81\x8d\x8f", "is not a CSV file"),
        (b"\xff\xfea", "is not a CSV file"),
        (b"a," * MAX_COLUMNS + b"b\nx", f"must have at most {MAX_COLUMNS} columns"),
        (b"a@b,c\n" + b"a@b," * (MAX_COLUMNS + 1), f"must have at most {MAX_COLUMNS} columns"),
        (b"n\n" + b"x\n" * (MAX_LINES + 1), "must have at most 20,000 lines. Split it into several files"),
        (b"x@y\n" * (MAX_LINES + 1), "must have at most 20,000 lines. Split it into several files"),
        (b"a" * (MAX_BYTES + 1), "must not be larger than 5 MB"),
    ],
)
def test_what_is_no_file_of_contacts_is_refused_with_a_reason(body: bytes, fault: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_file(body)

    assert refusal.value.details == {"file": fault}


def test_as_many_lines_as_are_allowed_are_read() -> None:
    assert len(read_file(b"n\n" + b"x\n" * MAX_LINES).lines) == MAX_LINES
    assert len(read_file(b"x@y\n" * MAX_LINES).lines) == MAX_LINES


def test_a_hostile_file_costs_no_more_than_its_size() -> None:
    with pytest.raises(Invalid):
        read_file(b"\n" * (MAX_BYTES // 5))
    assert read_file(b"a\n" + b"," * MAX_DELIMITERS + b"x").lines[0].fault is LineFault.COLUMNS
    assert read_file(b'a\n"' + b"\n" * (MAX_ROWS - 2)).lines[0].fault is LineFault.UNREADABLE
    with pytest.raises(Invalid):
        read_file(b"a,b\n" + b"\n" * MAX_ROWS + b"x")


HOSTILE = {
    "delimiters in one line": b"," * (MAX_BYTES - 1) + b"x",
    "delimiters below the names": b"a,b\n" + b"," * (MAX_BYTES - 10) + b"x",
    "delimiters in a line of many rows": b"a,b\n" + (b'"\n"' + b"," * 5_000) * (MAX_BYTES // 5_010),
    "lines of short cells": b"a,b\n" + (b"ab," * 90 + b"\n") * (MAX_BYTES // 280),
    "empty rows": b"a,b\n" + b"\n" * (MAX_BYTES - 10) + b"x",
    "short cells in one wide line": b"a,b\n" + b"ab," * (MAX_BYTES // 3 - 10),
}


@pytest.mark.parametrize(
    "body", some_cases(HOSTILE.values(), daily=1, why="traces the memory of another large file"), ids=HOSTILE
)
def test_a_file_of_delimiters_and_short_cells_is_refused_before_it_fills_the_memory(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Tracing makes each row ten times as slow, and what is kept of an empty one shows after fewer.
    monkeypatch.setattr(csv_files, "MAX_ROWS", MAX_LINES)
    tracemalloc.start()
    try:
        with pytest.raises(Invalid):
            read_file(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 40 * 1024 * 1024


LARGE = {
    "quotation marks": b'"' * MAX_BYTES,
    "open quotation marks": b"a,b\n" + b'"a\n' * (MAX_BYTES // 3 - 2),
    "texts that end in the middle": b"a,b\n" + b'"a"b"\n' * (MAX_BYTES // 6 - 1),
    "one long word": b"a" * MAX_BYTES,
    "spaces": b" " * (MAX_BYTES - 1) + b"x",
    "zeros": b"\x00" * MAX_BYTES,
    "letters of no encoding": b"a\xff\x81" * (MAX_BYTES // 3),
    "as many lines as are allowed": b"n,e\n" + b"Ann,ann@x.example\n" * MAX_LINES,
    "as many cells as are allowed": b"a,b\n" + (b"ab," * 24 + b"x\n") * (MAX_CELLS // 25),
}


@pytest.mark.parametrize(
    "body",
    some_cases([*HOSTILE.values(), *LARGE.values()], daily=2, why="is as large as the others"),
    ids=[*HOSTILE, *LARGE],
)
def test_no_file_is_read_for_more_than_a_second(body: bytes) -> None:
    with within_a_second(body), suppress(Invalid):
        read_file(body)


PIECES = b'" , ; \n \r \r\n \t sep=; \xff\xfe \x00 \x81 Name Ann ann@x.example'.split(b" ")


@given(st.binary() | st.lists(st.sampled_from(PIECES), max_size=200).map(b"".join))
def test_whatever_is_sent_is_read_or_refused_within_a_second(body: bytes) -> None:
    with within_a_second(body), suppress(Invalid):
        file = read_file(body)
        assert len(guess_columns(file.header, file.lines[0].cells)) == len(file.header)


def test_many_filled_cells_are_refused_and_empty_ones_are_not() -> None:
    filled = b"a,b\n" + (b"ab," * 90 + b"\n") * (MAX_CELLS // 90 + 1)
    with pytest.raises(Invalid) as refusal:
        read_file(filled)
    outlook = b"Name" + b",x" * 90 + b"\n" + (b"Ann" + b"," * 90 + b"\n") * MAX_LINES

    assert refusal.value.details == {"file": "must have at most 500,000 filled cells. Split it into several files"}
    assert len(read_file(outlook).lines) == MAX_LINES


def test_an_open_quotation_mark_spoils_only_what_it_swallows() -> None:
    file = read_file(b'Name,E-mail\n"Ann,ann@x.example\n' + b"Bob,bob@x.example,,,\n" * 10_000)

    assert file.lines[0].fault is LineFault.UNREADABLE
    assert file.lines[-1].cells[:2] == ("Bob", "bob@x.example")


def test_of_a_line_with_too_many_values_only_the_beginning_is_kept() -> None:
    line = read_file(b"a,b\n" + b"x," * 1000 + b"x\nann,bob" + b"," * 1000).lines

    assert (line[0].fault, len(line[0].cells)) == (LineFault.COLUMNS, MAX_COLUMNS + 1)
    assert (line[1].fault, line[1].cells) == (None, ("ann", "bob"))


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("Name,E-mail,Phone,Notes", "name,email,phone,notes"),
        ("First Name,Last Name,E-mail 1 - Value,Phone 1 - Value", "first_name,last_name,email,phone"),
        ("Vorname,Nachname,E-Mail-Adresse,Telefonnummer,Firma", "first_name,last_name,email,phone,company"),
        ("Prénom,Nom,Adresse e-mail,Téléphone,Société", "first_name,last_name,email,phone,company"),
        ("Nom,Courriel", "name,email"),
        ("Nombre,Correo electrónico,Teléfono,Etiquetas", "name,email,phone,tags"),
        ("Nombre,Apellidos,Correo", "first_name,last_name,email"),
        ("Nome completo,E-mail,Telefone,Observações", "name,email,phone,notes"),
        ("氏名,メールアドレス,電話番号,備考", "name,email,phone,notes"),
        ("الاسم,البريد الإلكتروني,رقم الهاتف,ملاحظات", "name,email,phone,notes"),
        ("Name,Vorname,E-Mail", "last_name,first_name,email"),
        ("Name,Given Name,Family Name,E-mail", "name,,,email"),
        ("Nachname,Mail", "name,email"),
        ("NAME,EMAIL_ADDRESS,Name,Birthday", "name,email,,"),
    ],
)
def test_columns_are_guessed_in_seven_languages(header: str, columns: str) -> None:
    assert guess_columns(tuple(header.split(",")), ()) == tuple(columns.split(","))


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_the_names_in_our_own_files_are_always_known(language: object) -> None:
    fields = ["name", "email", *(each.name for each in CONTACT_FIELDS)]
    locale = Locale(language=language, formats="en")  # type: ignore[arg-type]

    assert guess_columns(tuple(str(localize(COLUMN_NAMES[each], locale)) for each in fields), ()) == tuple(fields)


@pytest.mark.parametrize("text", ["=1+1", "+4930", "-x", "@x", "\tx", "'=x", "''+x", " =x", "' @x", "\uff1dx"])
def test_what_a_spreadsheet_takes_for_a_formula_is_marked_and_read_back(text: str) -> None:
    assert write_cell(text) == f"'{text}"
    assert read_cell(write_cell(text)) == text


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("Ann;=x", "Ann;'=x"),
        ("Ann;'=x", "Ann;''=x"),
        ("one\n- two", "one\n'- two"),
        ("=x;=y", "'=x;'=y"),
        ("Ann\t @x", "Ann\t' @x"),
        ("-;-;'-", "'-;'-;''-"),
        ('Ann;"=1+1;', "Ann;'\"=1+1;"),
        ("Ann;'\"=1", "Ann;''\"=1"),
    ],
)
def test_parts_that_some_spreadsheets_take_for_formulas_are_marked_and_read_back(text: str, cell: str) -> None:
    assert write_cell(text) == cell
    assert read_cell(cell) == text


@pytest.mark.parametrize("text", ["a; b", "one\ntwo", "", "Ann", "'Ann'", "O'Neil", "a=b", "'", "1+1"])
def test_other_cells_stay_as_they_are(text: str) -> None:
    assert write_cell(text) == read_cell(text) == text
