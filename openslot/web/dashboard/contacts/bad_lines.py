"""Lines of a file that were not imported, in words."""

from msgspec import Struct

from openslot.contacts.csv_columns import COLUMN_NAMES
from openslot.contacts.import_models import ContactImport, ImportLine, LineFault
from openslot.contacts.import_rules import read_person
from openslot.i18n import Text

LONGEST = 500
UNREADABLE = Text("A quotation mark is missing or in the wrong place")
TOO_WIDE = Text("The line has more values than there are columns")


class BadLineRow(Struct, frozen=True, kw_only=True):
    """One line that was not imported."""

    number: int
    content: str
    problems: tuple[Text, ...]


def bad_line_row(line: ImportLine, found: ContactImport) -> BadLineRow:
    """Describe a line as a row."""
    content = found.delimiter.join(line.cells)
    shown = f"{content[:LONGEST]}…" if len(content) > LONGEST else content
    return BadLineRow(number=line.number, content=shown, problems=find_problems(line, found))


def find_problems(line: ImportLine, found: ContactImport) -> tuple[Text, ...]:
    """Say everything that is wrong with a line."""
    if line.fault is LineFault.DUPLICATE:
        return (Text("The email address is the same as in line %(line)s", line=line.first_line),)
    if line.fault is LineFault.COLUMNS:
        return (TOO_WIDE,)
    if line.fault is LineFault.UNREADABLE:
        return (UNREADABLE,)
    _, faults = read_person(line.cells, found.columns)
    return tuple(
        Text("%(field)s: %(fault)s", field=COLUMN_NAMES[field], fault=fault) for field, fault in faults.items()
    )
