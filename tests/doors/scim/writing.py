"""Filters written as text, and judged in Python: what the parser and the database are measured against."""

import json
from collections.abc import Mapping
from typing import Any

from openslot.doors.scim.attributes import CORE
from openslot.doors.scim.filters import And, AttributePath, Comparison, Filter, Not, Or, Present, ValuePath


def write(term: Filter) -> str:
    """Write a filter as a provider would."""
    match term:
        case And(terms):
            return " and ".join(f"({write(each)})" for each in terms)
        case Or(terms):
            return " or ".join(f"({write(each)})" for each in terms)
        case Not(inner):
            return f"not ({write(inner)})"
        case Present(path):
            return f"{write_path(path)} pr"
        case Comparison(path, operator, value):
            return f"{write_path(path)} {operator} {json.dumps(value)}"
        case ValuePath(path, inner):
            return f"{write_path(path)}[{write(inner)}]"


def write_path(path: AttributePath) -> str:
    assert path.schema == CORE
    return f"{path.name}.{path.part}" if path.part else path.name


def judge(user: Mapping[str, Any], term: Filter) -> bool:
    """Tell whether a supported filter is true for a user, in the plainest way."""
    match term:
        case And(terms):
            return all(judge(user, each) for each in terms)
        case ValuePath(_, inner):
            return any(judge_email(each, inner) for each in user.get("emails", ()))
        case Comparison(AttributePath(_, name, _), operator, value):
            if name.lower() == "emails":
                return any(compare(each.get("value"), operator, value) for each in user.get("emails", ()))
            key = next((key for key in user if key.lower() == name.lower()), None)
            return key is not None and compare(user[key], operator, value, exact=key == "externalId")
    raise AssertionError(term)


def judge_email(element: Mapping[str, Any], term: Filter) -> bool:
    match term:
        case And(terms):
            return all(judge_email(element, each) for each in terms)
        case Comparison(AttributePath(_, name, _), operator, value):
            return compare(element.get(name), operator, value)
    raise AssertionError(term)


def compare(found: Any, operator: str, wanted: Any, *, exact: bool = False) -> bool:
    if found is None or isinstance(found, bool) or isinstance(wanted, bool):
        return operator == "eq" and found is wanted
    if not exact:
        found, wanted = found.lower(), wanted.lower()
    return bool({"eq": found == wanted, "co": wanted in found, "sw": found.startswith(wanted)}[operator])
