"""The page of the API reference: its operations by topic, with texts, fields and examples."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any

from markupsafe import Markup, escape
from msgspec import Struct
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.doors.http.assets import Asset, make_asset, send_asset
from openslot.doors.http.doors import JSON
from openslot.doors.http.openapi import DESCRIPTION, TITLE, Operation, Shapes, kinds_of, schema_of
from openslot.doors.web.api_docs.fields import FieldRow, field_row, kind_of, rows_inside
from openslot.doors.web.api_docs.shapes import ExampleParameter, Schema, Schemas, as_json, curl, example_of, read_schema
from openslot.doors.web.shared.pages import HTML, locale_of, render
from openslot.doors.web.shared.templating import templates
from openslot.platform.core.errors import NotFound
from openslot.platform.core.work import Work
from openslot.platform.flags.models import FlagKey
from openslot.platform.flags.operations import is_enabled
from openslot.platform.i18n.languages import Language, Locale
from openslot.platform.routing import Mount, Request, Response, get

CODE = re.compile(r"`([^`\n]+)`")
# The page says where to sign in, or where the account is.
FOR_ITS_READER = {"cache-control": "private, no-cache", "vary": "accept-language, cookie"}


def sentences(text: str) -> Markup:
    """Mark the code in a text."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(" ".join(text.split())))))  # noqa: S704 - escaped just here


def paragraphs(text: str) -> Markup:
    blocks = (sentences(block) for block in re.split(r"\n\s*\n", text) if block.strip())
    return Markup("").join(Markup("<p>{}</p>").format(block) for block in blocks)


def capitalize_first(text: str) -> str:
    return text[:1].upper() + text[1:]


class BodyReference(Struct, frozen=True, kw_only=True):
    kind: str
    media_type: str
    fields: tuple[FieldRow, ...]
    example: str


class ReferenceEntry(Struct, frozen=True, kw_only=True):
    operation: Operation
    parameters: tuple[FieldRow, ...]
    body: BodyReference | None
    answer: BodyReference
    command: str

    @property
    def phrase(self) -> str:
        return HTTPStatus(self.operation.declared.status).phrase


class Reference(Struct, frozen=True, kw_only=True):
    title: str
    lead: str
    url: str
    groups: dict[str, list[ReferenceEntry]]
    """The entries by tag."""


def make_reference(operations: Sequence[Operation], public_url: str) -> Reference:
    shapes = Shapes(kinds_of(operations))
    schemas = {name: read_schema(schema) for name, schema in shapes.named.items()}
    groups: dict[str, list[ReferenceEntry]] = {}
    for operation in operations:
        groups.setdefault(operation.declared.tag, []).append(_entry(operation, shapes, schemas, public_url.rstrip("/")))
    return Reference(title=TITLE, lead=DESCRIPTION.partition("\n\n")[0], url=public_url.rstrip("/"), groups=groups)


def _entry(operation: Operation, shapes: Shapes, schemas: Schemas, url: str) -> ReferenceEntry:
    parameters = _parameters(operation, shapes)
    handler = operation.handler
    sent = None if handler.body is None else _body(handler.body.kind, JSON, shapes, schemas)
    return ReferenceEntry(
        operation=operation,
        parameters=tuple(
            replace(field_row(each.name, each.schema, schemas, required=each.required), place=each.place)
            for each in parameters
        ),
        body=sent,
        answer=_body(handler.returns, operation.media_type, shapes, schemas),
        command=curl(
            operation.declared.method,
            f"{url}{operation.path}",
            parameters,
            schemas,
            with_key=operation.security is not None,
            body=sent.example if sent else None,
        ),
    )


def _parameters(operation: Operation, shapes: Shapes) -> list[ExampleParameter]:
    in_path = [
        ExampleParameter(name=name, place="path", required=True, schema=Schema(type="string"))
        for name, _ in operation.handler.path_values
    ]
    in_query = [
        ExampleParameter(
            name=each.name, place="query", required=each.is_required, schema=read_schema(schema_of(each, shapes))
        )
        for each in operation.handler.parameters
    ]
    return in_path + sorted(in_query, key=lambda each: not each.required)


def _body(kind: Any, media_type: str, shapes: Shapes, schemas: Schemas) -> BodyReference:
    schema = read_schema(shapes.of(kind))
    return BodyReference(
        kind=kind_of(schema, schemas),
        media_type=media_type,
        fields=rows_inside(schema, schemas),
        example=as_json(example_of(schema, schemas)),
    )


def make_slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")


templates.filters |= {"paragraphs": paragraphs, "sentences": sentences, "capitalize_first": capitalize_first}
templates.filters["slug"] = make_slug


def serve_reference(make_reference: Callable[[], Reference], *, limit: int) -> Mount:
    """Serve the reference; it is written once for each language, with and without a session, and kept."""

    # benchmarks/caches.py: reference of the API, 1,000 times
    @cache
    def written(language: Language, *, is_signed_in: bool) -> Asset:
        locale = Locale(language=language, formats=language.formats)
        body = render("api_docs.html", locale, is_signed_in=is_signed_in, reference=make_reference(), limit=limit)
        return make_asset(body, HTML)

    @get("/api/docs")
    async def show_api_docs(work: Work, request: Request, user: User | None) -> Response:
        if not await is_enabled(work, FlagKey.API_DOCS, user_id=user.id if user else None):
            raise NotFound
        asset = written(locale_of(request).language, is_signed_in=user is not None)
        return send_asset(request, asset, FOR_ITS_READER)

    return Mount(prefix="", handlers=[show_api_docs])
