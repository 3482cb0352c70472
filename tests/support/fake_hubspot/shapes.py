"""The forms of HubSpot's API: bodies by the models of its own library, and refusals."""

import json
import re
from typing import Any
from uuid import uuid4

from hubspot.crm.objects.meetings import models as objects
from hubspot.crm.properties import models as properties

from tests.support.fake_server import Answer

NATIVE: dict[str, type] = {"str": str, "int": int, "bool": bool, "object": object}
JSON = {"Content-Type": "application/json;charset=utf-8"}


class HubSpotRefusal(Exception):
    """A refusal with its status and its category; `errors` say what is wrong, each with its context."""

    def __init__(self, status: int, category: str, message: str, errors: list[dict[str, Any]] | None = None) -> None:
        super().__init__(f"{status} {category}: {message}")
        self.status = status
        self.body: dict[str, Any] = {"status": "error", "message": message, "category": category}
        self.body |= {"correlationId": str(uuid4())} | ({"errors": errors} if errors else {})

    @property
    def answer(self) -> Answer:
        return write(self.status, self.body)


def write(status: int, body: object, headers: dict[str, str] | None = None) -> Answer:
    return Answer(status, json.dumps(body).encode(), {**JSON, **(headers or {})})


def invalid(name: str, message: str, code: str) -> dict[str, Any]:
    """Say what is wrong with a property."""
    return {"message": message, "code": code, "context": {"propertyName": [name]}}


def refuse_values(errors: list[dict[str, Any]]) -> HubSpotRefusal:
    listed = [
        {
            "isValid": False,
            "message": each["message"],
            "error": each["code"],
            "name": each["context"]["propertyName"][0],
        }
        for each in errors
    ]
    message = f"Property values were not valid: {json.dumps(listed)}"
    return HubSpotRefusal(400, "VALIDATION_ERROR", message, errors)


def read(text: str, model: str, models: Any = objects) -> dict[str, Any]:
    """Read a body, and refuse what the model does not have."""
    body: dict[str, Any] = json.loads(text)
    check(model, body, models)
    return body


def check(kind: str, value: Any, models: Any = objects, place: str = "body") -> Any:
    """Build the model, which checks what is required and which values there are; refuse fields that are not in it."""
    if nested := re.fullmatch(r"list\[(.*)\]", kind):
        _check_is(list, value, place)
        return [check(nested[1], each, models, place) for each in value]
    if nested := re.fullmatch(r"dict\[str, (.*)\]", kind):
        _check_is(dict, value, place)
        return {name: check(nested[1], each, models, f"{place}.{name}") for name, each in value.items()}
    if kind in NATIVE:
        _check_is(NATIVE[kind], value, place)
        return value
    model = getattr(models, kind)
    _check_is(dict, value, place)
    names = {wire: name for name, wire in model.attribute_map.items()}
    if unknown := value.keys() - names.keys():
        raise HubSpotRefusal(400, "VALIDATION_ERROR", f"{place} has no field {sorted(unknown)}")
    given = {
        names[wire]: check(model.openapi_types[names[wire]], each, models, f"{place}.{wire}")
        for wire, each in value.items()
    }
    try:
        return model(**given)
    except ValueError as fault:
        raise HubSpotRefusal(400, "VALIDATION_ERROR", str(fault)) from None


def read_property(text: str) -> dict[str, Any]:
    return read(text, "PropertyCreate", properties)


def _check_is(expected: type, value: Any, place: str) -> None:
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise HubSpotRefusal(400, "VALIDATION_ERROR", f"Invalid input JSON: {place} is no {expected.__name__}")
