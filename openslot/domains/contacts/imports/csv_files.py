"""CSV files of contacts as people have them: encodings, delimiters, faults, columns in seven languages, safe cells."""

import codecs
import csv
import re
from collections.abc import Iterator
from itertools import islice
from unicodedata import category, normalize

from openslot.domains.contacts.imports.models import ContactFile, Field, ImportLine, LineFault
from openslot.domains.contacts.models import CONTACT_FIELDS, fold
from openslot.platform.core.errors import Invalid
from openslot.platform.core.text import FORMULAS, SEPARATORS, SIGNS, SPACES
from openslot.platform.i18n import PluralText, Text
from openslot.platform.i18n.languages import DEFAULT, LANGUAGES, Locale
from openslot.platform.i18n.localization import localize

MAX_BYTES = 5 * 1024 * 1024
MAX_LINES = 20_000
MAX_COLUMNS = 100
# What a file of this size holds is a multiple of it in memory: each cell is a text of its own.
MAX_CELLS = 500_000
# More than an open quotation mark can swallow before its line is given up.
MAX_DELIMITERS = 200_000
# Lines of a cell and empty ones are rows too; each costs time.
MAX_ROWS = 10 * MAX_LINES
# As much of the first line as is looked at for the delimiter.
MAX_SNIFFED = 10_000
ROW = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
UTF8, UTF16, WINDOWS = "utf-8", "utf-16", "windows-1252"
DELIMITERS = (",", ";", "\t")
# Excel writes this line for itself; it names the delimiter and is not part of the table.
EXCEL_HINT = "sep="

EMPTY_FILE = Text("must not be empty")
TOO_MANY_LINES = Text("must have at most %(count)s lines. Split it into several files", count=f"{MAX_LINES:,}")
TOO_MANY_COLUMNS = PluralText(
    "must have at most %(count)s column", "must have at most %(count)s columns", count=MAX_COLUMNS
)
TOO_MANY_CELLS = Text("must have at most %(count)s filled cells. Split it into several files", count=f"{MAX_CELLS:,}")


def read_file(body: bytes) -> ContactFile:
    """Read a file into lines, or refuse it; lines that can't be read are kept with their fault."""
    if len(body) > MAX_BYTES:
        raise _refuse(Text("must not be larger than %(size)s MB", size=MAX_BYTES // 1024 // 1024))
    text, encoding = _decode(body)
    hint, text = _split_hint(text)
    delimiter = hint or _find_delimiter(text)
    # One more for the names of the columns, and one that shows that there are too many.
    lines = list(islice(_check_cells(_read_lines(text, delimiter)), MAX_LINES + 2))
    return _split_header(lines, encoding, delimiter, skipped=1 if hint else 0)


def _decode(body: bytes) -> tuple[str, str]:
    if body.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise _refuse(Text("is a workbook. Save it as CSV in your spreadsheet program, and choose that file"))
    for encoding, name in _encodings(body):
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" in text:
            break
        if not text.strip():
            raise _refuse(EMPTY_FILE)
        return text, name
    raise _refuse(Text("is not a CSV file"))


def _encodings(body: bytes) -> Iterator[tuple[str, str]]:
    """List in which encodings a file may be, the likeliest first."""
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield "utf-16", UTF16
        return
    start = body[:1000]
    if b"\x00" in start:
        # Most letters of a CSV file are ASCII, so that every other byte is zero.
        yield ("utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be"), UTF16
        return
    yield "utf-8-sig", UTF8
    yield "cp1252", WINDOWS


def _split_hint(text: str) -> tuple[str, str]:
    first, _, rest = text.partition("\n")
    hint = first.strip("\r ").lower()
    if hint.startswith(EXCEL_HINT) and hint.removeprefix(EXCEL_HINT) in DELIMITERS:
        return hint.removeprefix(EXCEL_HINT), rest
    return "", text


def _find_delimiter(text: str) -> str:
    first = next((row for row in _split_rows(text) if row.strip()), "")[:MAX_SNIFFED]
    return max(DELIMITERS, key=lambda delimiter: _count_values(first, delimiter))


def _split_rows(text: str) -> Iterator[str]:
    """Split a text at every kind of line break, row by row and without a copy of the whole."""
    return (found[0] for found in ROW.finditer(text))


def _count_values(row: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([row], delimiter=delimiter)))
    except csv.Error:
        return 0


def _read_lines(text: str, delimiter: str) -> Iterator[ImportLine]:
    """Read line by line with the number at which each begins; empty ones are left out."""
    taken: list[str] = []
    delimiters = 0

    def take() -> Iterator[str]:
        nonlocal delimiters
        for index, row in enumerate(_split_rows(text)):
            if index >= MAX_ROWS:
                raise _refuse(TOO_MANY_LINES)
            taken.append(row)
            # Counted before the reader makes a cell of each.
            delimiters += row.count(delimiter)
            if delimiters > MAX_DELIMITERS:
                raise _refuse(TOO_MANY_COLUMNS)
            yield row

    reader = csv.reader(take(), delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        taken.clear()
        delimiters = 0
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            raw = _one_break("".join(taken)).strip("\n")
            yield ImportLine(number=number, cells=(raw,), fault=LineFault.UNREADABLE)
            continue
        if any(cell.strip() for cell in cells):
            # Only a line of several rows has cells with line breaks.
            yield _make_line(number, [_one_break(cell) for cell in cells] if len(taken) > 1 else cells)


def _make_line(number: int, cells: list[str]) -> ImportLine:
    """Make a line of its values; of too many, only the first are kept. Empty ones at the end do not count."""
    count = len(cells)
    while count > MAX_COLUMNS and not cells[count - 1].strip():
        count -= 1
    kept = tuple(cells[: min(count, MAX_COLUMNS + 1)])
    return ImportLine(number=number, cells=kept, fault=LineFault.COLUMNS if count > MAX_COLUMNS else None)


def _check_cells(lines: Iterator[ImportLine]) -> Iterator[ImportLine]:
    """Refuse a file as soon as more cells are filled than one may have."""
    filled = 0
    for line in lines:
        filled += sum(map(bool, line.cells))
        if filled > MAX_CELLS:
            raise _refuse(TOO_MANY_CELLS)
        yield line


def _one_break(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _split_header(lines: list[ImportLine], encoding: str, delimiter: str, *, skipped: int) -> ContactFile:
    if not lines:
        raise _refuse(EMPTY_FILE)
    first = lines[0]
    # The names of columns contain no addresses: such a line is a person's.
    is_header = first.fault is None and not any("@" in cell for cell in first.cells)
    header = (
        tuple(cell.strip() for cell in first.cells) if is_header else ("",) * max(len(each.cells) for each in lines)
    )
    rest = lines[1:] if is_header else lines
    if not rest:
        raise _refuse(Text("has no lines below the names of its columns"))
    if len(header) > MAX_COLUMNS:
        raise _refuse(TOO_MANY_COLUMNS)
    if len(rest) > MAX_LINES:
        raise _refuse(TOO_MANY_LINES)
    return ContactFile(
        encoding=encoding,
        delimiter=delimiter,
        header=header,
        lines=tuple(_check_width(line, len(header), skipped) for line in rest),
    )


def _check_width(line: ImportLine, width: int, skipped: int) -> ImportLine:
    """Mark a line that has more values than there are columns; empty ones at the end do not count."""
    kept = len(line.cells)
    while kept > width and not line.cells[kept - 1].strip():
        kept -= 1
    fault = line.fault or (LineFault.COLUMNS if kept > width else None)
    return ImportLine(number=line.number + skipped, cells=line.cells[:kept], fault=fault)


def _refuse(fault: Text) -> Invalid:
    return Invalid(details={"file": fault})


GUARD = "'"
_PASSED_OVER = SPACES + GUARD
_IS_INNER = f'(?=[{_PASSED_OVER}"]*[{re.escape(SIGNS)}])'
_INNER = re.compile(f"(?<={SEPARATORS}){_IS_INNER}")
_GUARDED = re.compile(f"(?<={SEPARATORS}){GUARD}{_IS_INNER}")


def write_cell(text: str) -> str:
    """Keep a spreadsheet from taking a cell or a part of it for a formula, with marks that `read_cell` takes off."""
    guarded = _INNER.sub(GUARD, text)
    return f"{GUARD}{guarded}" if _is_formula(text) else guarded


def read_cell(cell: str) -> str:
    """Take off the marks that keep a cell and its parts from being formulas."""
    text = _GUARDED.sub("", cell)
    return text[1:] if text.startswith(GUARD) and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    return text.lstrip(_PASSED_OVER).startswith(FORMULAS)


# As an exported file names its columns; the first and last name are never exported.
COLUMN_NAMES: dict[str, Text] = {
    Field.NAME: Text("Name"),
    Field.FIRST_NAME: Text("First name"),
    Field.LAST_NAME: Text("Last name"),
    Field.EMAIL: Text("Email address"),
    **{each.name: each.label for each in CONTACT_FIELDS},
}
# What other programs call them, folded and without spaces and punctuation.
OTHER_NAMES: dict[str, str] = {
    Field.NAME: """name fullname displayname contact contactname kontakt ansprechpartner vollstandigername nomcomplet
        nometnom nombrecompleto nombreyapellidos nomecompleto 名前 氏名 お名前 表示名 الاسم الاسمالكامل""",
    Field.FIRST_NAME: """firstname givenname forename vorname rufname prenom nombredepila primeironome 名
        الاسمالاول""",
    Field.LAST_NAME: """lastname surname familyname nachname familienname zuname nomdefamille apellido apellidos
        sobrenome ultimonome 姓 苗字 اسمالعائلة اللقب""",
    Field.EMAIL: """email emailaddress emails email1 email1value mail mailaddress primaryemail workemail emailadresse
        mailadresse adresseemail adressemail courriel adressedemessagerie correo correoelectronico direcciondecorreo
        enderecodeemail メール メールアドレス eメール 電子メール البريدالالكتروني بريدالكتروني الايميل""",
    **{each.name: each.other_names for each in CONTACT_FIELDS},
}


def guess_columns(header: tuple[str, ...], first: tuple[str, ...]) -> tuple[str, ...]:
    """Guess what each column holds, at most one column for each field; without names, only the address is found."""
    known, taken, columns = _known_names(), set[str](), []
    for index, name in enumerate(header):
        field = known.get(_plain(name), "") if name else _guess_by_value(first[index] if index < len(first) else "")
        columns.append("" if field in taken else field)
        taken |= {field} - {""}
    return tuple(_settle_names(columns))


def _settle_names(columns: list[str]) -> list[str]:
    """Leave either the whole name or its two parts; beside one part, "Nom" or "Nombre" is the other part."""
    parts = {Field.FIRST_NAME, Field.LAST_NAME} & set(columns)
    if Field.NAME in columns and len(parts) == 1:
        other = Field.LAST_NAME if Field.FIRST_NAME in parts else Field.FIRST_NAME
        return [other if each == Field.NAME else each for each in columns]
    if Field.NAME in columns:
        return ["" if each in parts else each for each in columns]
    if len(parts) == 1:
        return [Field.NAME if each in parts else each for each in columns]
    return columns


def _guess_by_value(cell: str) -> str:
    return Field.EMAIL if "@" in cell else ""


def _plain(name: str) -> str:
    letters = (each for each in normalize("NFKD", fold(name)) if category(each) != "Mn")
    return re.sub(r"[\W_]+", "", "".join(letters))


def _known_names() -> dict[str, str]:
    known: dict[str, str] = {_plain(name): field for field, names in OTHER_NAMES.items() for name in names.split()}
    # The names that our own files have come last, because they are certain.
    for language in LANGUAGES.values():
        locale = Locale(language=language, formats=DEFAULT.formats)
        known |= {_plain(str(localize(text, locale))): field for field, text in COLUMN_NAMES.items()}
    return known
