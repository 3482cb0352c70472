"""Rows of a form that are typed: listed, replaced, and changed by a button that adds, removes or moves one."""

import re
from collections.abc import Mapping, Sequence

ACT = re.compile(r"(add|remove|up|down)(?:\.([0-9]{1,2}))?", re.ASCII)
TypedRow = dict[str, str]


def list_rows(values: Mapping[str, str], name: str, parts: Sequence[str]) -> list[TypedRow]:
    """List the rows that a form has under a name, as they were typed."""
    begin = f"{name}."
    names = [each.removeprefix(begin).partition(".") for each in values if each.startswith(begin)]
    places = {int(place) for place, _, part in names if place.isascii() and place.isdecimal() and len(place) < 4}
    return [
        {part: values[each] for part in parts if (each := f"{begin}{place}.{part}") in values}
        for place in sorted(places)
    ]


def put_rows(values: Mapping[str, str], name: str, typed: Sequence[TypedRow]) -> dict[str, str]:
    """Replace the rows of a form, numbered from zero."""
    begin = f"{name}."
    kept = {each: text for each, text in values.items() if not each.startswith(begin)}
    return kept | {f"{begin}{index}.{part}": text for index, row in enumerate(typed) for part, text in row.items()}


def change_rows(typed: list[TypedRow], act: str, *, new: TypedRow) -> int | None:
    """Add, remove or move a row, and return which one to continue with; leave any other act alone and return None."""
    found = ACT.fullmatch(act)
    if found is None or (found[1] != "add" and not (found[2] and int(found[2]) < len(typed))):
        return None
    place = int(found[2] or 0)
    if found[1] == "add":
        typed.append(dict(new))
        return len(typed) - 1
    if found[1] == "remove":
        del typed[place]
        return min(place, len(typed) - 1)
    target = min(max(place + (1 if found[1] == "down" else -1), 0), len(typed) - 1)
    typed.insert(target, typed.pop(place))
    return target
