"""The description of the API inside of Google's own library: which parameters and fields there are, and who may ask."""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import unquote

from tests.support.fake_google.errors import GoogleRefusal

USED = {
    "calendarList": ("list",),
    "events": ("list", "get", "insert", "patch", "update", "delete", "watch"),
    "channels": ("stop",),
}


@cache
def load() -> Any:
    """Read the description."""
    text = files("googleapiclient").joinpath("discovery_cache/documents/calendar.v3.json").read_text("utf-8")
    return json.loads(text)


@cache
def _list_methods() -> list[tuple[str, str, re.Pattern[str], Any]]:
    resources = load()["resources"]
    found = []
    for resource, names in USED.items():
        for name in names:
            method = resources[resource]["methods"][name]
            pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", method["path"])
            found.append((f"{resource}.{name}", method["httpMethod"], re.compile(pattern), method))
    return found


def find_method(verb: str, path: str) -> tuple[str, dict[str, str], Any]:
    """Find what is asked for, with the parts of its path, or refuse what is not in the description."""
    for name, wanted, pattern, method in _list_methods():
        match = pattern.fullmatch(path)
        if match and wanted == verb:
            return name, {key: unquote(value) for key, value in match.groupdict().items()}, method
    raise GoogleRefusal(404, "notFound", f"no method {verb} {path}")


def check_query(method: Any, query: dict[str, str]) -> None:
    """Refuse parameters that the method does not have, or whose values it does not take."""
    known = {name: each for name, each in method.get("parameters", {}).items() if each["location"] == "query"}
    known |= load()["parameters"]
    for name, value in query.items():
        if name not in known:
            raise GoogleRefusal(400, "badRequest", f"unknown parameter {name}")
        described = known[name]
        is_wrong = {
            "boolean": value not in {"true", "false"},
            "integer": not value.isdecimal() or int(value or "0") < int(described.get("minimum", "0")),
            "string": "enum" in described and value not in described["enum"],
        }[described["type"]]
        if is_wrong:
            raise GoogleRefusal(400, "invalidParameter", f"{name}={value}")


def check_body(schema: str, body: Any) -> None:
    """Refuse fields that the description does not have, and values of another type."""
    _check({"$ref": schema}, body, schema)


def _check(described: Any, value: Any, place: str) -> None:
    described = load()["schemas"][described["$ref"]] if "$ref" in described else described
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "any": object}
    if not isinstance(value, types[described["type"]]):
        raise GoogleRefusal(400, "invalid", f"{place} is no {described['type']}")
    if isinstance(value, list):
        for each in value:
            _check(described["items"], each, place)
    elif isinstance(value, dict):
        for name, each in value.items():
            inner = described.get("properties", {}).get(name, described.get("additionalProperties"))
            if inner is None:
                raise GoogleRefusal(400, "invalid", f"{place} has no field {name}")
            _check(inner, each, f"{place}.{name}")


def apply_fields(mask: str, value: Any) -> Any:
    """Leave out what a partial response leaves out: `items(id,start),nextPageToken,a/b`."""
    return _select(_read_mask(mask), value)


def _read_mask(mask: str) -> dict[str, str]:
    parts: list[str] = []
    depth, part = 0, ""
    for character in mask:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    found: dict[str, str] = {}
    for each in (*parts, part):
        name, _, rest = each.partition("(") if "(" in each else each.partition("/")
        found[name] = rest.removesuffix(")") if "(" in each else rest
    return found


def _select(mask: dict[str, str], value: Any) -> Any:
    if isinstance(value, list):
        return [_select(mask, each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _select(_read_mask(mask[name]), each) if mask[name] else each
        for name, each in value.items()
        if name in mask
    }
