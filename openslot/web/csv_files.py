"""CSV files that pages offer, as spreadsheets read them."""

import csv
from collections.abc import Callable, Iterable
from io import StringIO

from openslot.core.spreadsheets import make_safe
from openslot.routing import Response
from openslot.web.pages import NOT_KEPT

BOM = "\ufeff"


def write_csv(
    columns: Iterable[str], rows: Iterable[Iterable[str]], *, write_cell: Callable[[str], str] = make_safe
) -> bytes:
    """Write lines below the names of their columns; no cell is a formula."""
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow([write_cell(column) for column in columns])
    writer.writerows([write_cell(cell) for cell in row] for row in rows)
    # Without the mark, spreadsheets read the file in another encoding.
    return f"{BOM}{text.getvalue()}".encode()


def send_csv(name: str, body: bytes) -> Response:
    """Respond with a file to save."""
    headers = {"content-type": "text/csv; charset=utf-8", "content-disposition": f"attachment; filename={name}"}
    return Response(headers={**NOT_KEPT, **headers}, body=body)
