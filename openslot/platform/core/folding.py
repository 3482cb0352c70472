"""When two texts are the same but for upper and lower case: the database decides, as in its unique indexes."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from openslot.platform.core.db import Db

FIND_EACH = """
select distinct on (w) w, k from unnest($1::text[]) w join unnest($2::text[]) k on lower(k) = lower(w)
order by w, k <> w, k"""

Value = TypeVar("Value")


async def find_each(db: Db, wanted: Iterable[str], known: Mapping[str, Value]) -> dict[str, Value]:
    """Find texts among the known ones, as the database compares them; those that are not known are left out."""
    rows = await db.fetch(FIND_EACH, [each for each in wanted if "\0" not in each], list(known))
    return {row["w"]: known[row["k"]] for row in rows}
