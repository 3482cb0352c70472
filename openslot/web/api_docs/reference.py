"""The whole reference, ready to be shown."""

import re
from functools import lru_cache
from http import HTTPStatus
from itertools import chain

import msgspec
from msgspec import Struct

from openslot.web.api_docs.examples import as_json, content_example, curl
from openslot.web.api_docs.fields import FieldRow, kind_of, parameter_row, rows_inside
from openslot.web.api_docs.spec import Answer, Content, Description, Operation, Parameter, PathItem, Schemas

OTHER = "More"


class Body(Struct, frozen=True, kw_only=True):
    """What is sent or comes back."""

    kind: str
    media_type: str
    fields: tuple[FieldRow, ...]
    example: str


class AnswerRow(Struct, frozen=True, kw_only=True):
    """One status, what it means and what comes with it."""

    status: str
    phrase: str
    description: str
    body: Body | None


class Entry(Struct, frozen=True, kw_only=True):
    """One operation."""

    anchor: str
    method: str
    path: str
    title: str
    description: str
    deprecated: bool
    parameters: tuple[FieldRow, ...]
    body: Body | None
    answers: tuple[AnswerRow, ...]
    errors: tuple[AnswerRow, ...]
    command: str


class Group(Struct, frozen=True, kw_only=True):
    """The operations of one tag."""

    name: str
    anchor: str
    description: str
    entries: tuple[Entry, ...]


class Reference(Struct, frozen=True, kw_only=True):
    """Everything that the page shows."""

    title: str
    version: str
    lead: str
    url: str
    groups: tuple[Group, ...]


@lru_cache(maxsize=8)
def read_reference(description: bytes) -> Reference:
    """Make the reference out of a description's JSON."""
    api = msgspec.json.decode(description, type=Description)
    groups: dict[str, list[Entry]] = {tag.name: [] for tag in api.tags}
    for path, item in api.paths.items():
        for method, operation in item.operations():
            entry = _entry(api, path, item, method.upper(), operation)
            groups.setdefault(operation.tags[0] if operation.tags else OTHER, []).append(entry)
    about = {tag.name: tag.description for tag in api.tags}
    return Reference(
        title=api.info.title,
        version=api.info.version,
        lead=api.info.description.partition("\n\n")[0],
        url=_url(api),
        groups=tuple(
            Group(name=name, anchor=f"tag-{_slug(name)}", description=about.get(name, ""), entries=tuple(entries))
            for name, entries in groups.items()
            if entries
        ),
    )


def _entry(api: Description, path: str, item: PathItem, method: str, operation: Operation) -> Entry:
    schemas = api.components.schemas
    parameters = _parameters(item, operation)
    sent = _content(operation.requestBody.content) if operation.requestBody else None
    security = api.security if operation.security is None else operation.security
    answers = [_answer(status, answer, schemas) for status, answer in operation.responses.items()]
    return Entry(
        anchor=_slug(operation.operationId or f"{method} {path}"),
        method=method,
        path=path,
        title=operation.summary or f"{method} {path}",
        description=operation.description or "",
        deprecated=operation.deprecated,
        parameters=tuple(parameter_row(parameter, schemas) for parameter in parameters),
        body=_body(*sent, schemas) if sent else None,
        answers=tuple(answer for answer in answers if answer.status.startswith(("1", "2", "3"))),
        errors=tuple(answer for answer in answers if not answer.status.startswith(("1", "2", "3"))),
        command=curl(
            method, _url(api) + path, parameters, schemas, with_key=bool(security), body=sent[1] if sent else None
        ),
    )


def _url(api: Description) -> str:
    return api.servers[0].url.rstrip("/") if api.servers else ""


def _parameters(item: PathItem, operation: Operation) -> list[Parameter]:
    found = {(one.place, one.name): one for one in chain(item.parameters, operation.parameters) if one.name}
    order = {"path": 0, "query": 1, "header": 2}
    return sorted(found.values(), key=lambda one: (order.get(one.place, 3), not one.required))


def _answer(status: str, answer: Answer, schemas: Schemas) -> AnswerRow:
    known = {str(one.value): one for one in HTTPStatus}.get(status)
    found = _content(answer.content)
    return AnswerRow(
        status=status,
        phrase=known.phrase if known else "",
        # The framework's own sentence for a status says nothing about this operation.
        description="" if known and answer.description == known.description else answer.description,
        body=_body(*found, schemas) if found else None,
    )


def _content(content: dict[str, Content]) -> tuple[str, Content] | None:
    return next(iter(content.items()), None)


def _body(media_type: str, content: Content, schemas: Schemas) -> Body:
    return Body(
        kind=kind_of(content.schema, schemas),
        media_type=media_type,
        fields=rows_inside(content.schema, schemas),
        example=as_json(content_example(content, schemas)),
    )


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-") or "operation"
