"""Handlers that are there to be asked badly: one for each way in which a request can carry a value."""

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any

import asyncpg
from litestar import delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta, Struct, json, to_builtins

from openslot.core.ids import parse_id
from openslot.core.moments import MOMENTS, To
from openslot.core.paging import Limit, Page
from openslot.core.text import Name, Prose
from openslot.core.work import Work
from openslot.http.doors import Answer


class Colour(StrEnum):
    """Some values and no others."""

    RED = "red"
    BLUE = "blue"


class Stop(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A part of a whole."""

    starts_at: datetime
    label: str = ""


class Journey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Every kind of field that a body of ours has."""

    name: Name
    seats: Annotated[int, Meta(ge=1, le=10)] = 1
    number: int = 0
    price: float = 0.0
    paid: bool = False
    colour: Colour = Colour.RED
    on: date | None = None
    notes: Prose | None = None
    remark: str = ""
    first_stop: Stop | None = None
    stops: Annotated[list[Stop], Meta(max_length=3)] = []
    tags: list[str] = []
    answers: dict[str, str] = {}


class Note(Struct, frozen=True, forbid_unknown_fields=True):
    """A body that may be left out."""

    reason: str = ""


@post("/api/v1/probe", status_code=200)
async def send_journey(data: JSONBody[Journey], work: NamedDependency[Work]) -> dict[str, Any]:
    """Take a body, and see whether PostgreSQL takes what is in it."""
    await work.db.fetchval("select $1::text || $2::text", data.name, data.notes or data.remark)
    await work.db.fetchval("select $1::bigint + 0 * $2::float8", data.number, data.price)
    await work.db.fetchval("select $1::timestamptz", data.first_stop.starts_at if data.first_stop else None)
    await work.db.fetchval("select $1::text[] || $2::text[]", data.tags, [*data.answers, *data.answers.values()])
    return {"journey": to_builtins(data)}


@post("/api/v1/probe/note", status_code=200)
async def send_note(data: JSONBody[Note | None] = None) -> dict[str, bool]:
    """Take a body or none."""
    return {"given": data is not None}


@get("/api/v1/probe", type_decoders=[MOMENTS])
async def search(
    work: NamedDependency[Work],
    page: Page = 1,
    limit: Limit = 20,
    q: Annotated[str | None, QueryParameter()] = None,
    at: Annotated[datetime | None, QueryParameter()] = None,
    since: Annotated[date | None, QueryParameter(name="from")] = None,
    colour: Annotated[Colour | None, QueryParameter()] = None,
    number: Annotated[int, QueryParameter()] = 0,
    share: Annotated[float, QueryParameter()] = 0.0,
    tag: Annotated[list[str] | None, QueryParameter()] = None,
    to: To = None,
) -> dict[str, Any]:
    """Take a query, and see whether PostgreSQL takes what is in it."""
    await work.db.fetchval("select $1::text || $2::bigint || $3::timestamptz || $4::float8", q, number, at, share)
    return {"page": page, "limit": limit, "q": q, "colour": colour, "from": since, "tag": tag, "to": to}


@get("/api/v1/probe/needs")
async def needs(
    zone: Annotated[str, QueryParameter()], seats: Annotated[int, QueryParameter(ge=1)]
) -> dict[str, object]:
    """Need two parameters."""
    return {"zone": zone, "seats": seats}


@get("/api/v1/probe/things/{thing_id:str}")
async def get_thing(thing_id: FromPath[str]) -> dict[str, str]:
    """Take an id."""
    return {"id": str(parse_id(thing_id))}


@get("/api/v1/probe/slugs/{slug:str}")
async def get_slug(slug: FromPath[str], work: NamedDependency[Work]) -> dict[str, str]:
    """Take a word of a path to PostgreSQL."""
    return {"slug": await work.db.fetchval("select $1::text", slug)}


@get("/api/v1/probe/breaks")
async def breaks() -> None:
    """Break with something that must stay inside."""
    raise RuntimeError("the password is swordfish")


@put("/api/v1/probe/deadlock")
async def deadlock() -> None:
    """Lose against another transaction."""
    raise asyncpg.DeadlockDetectedError("deadlock detected")


@delete("/api/v1/probe", status_code=200)
async def remove() -> dict[str, bool]:
    """Take no body."""
    return {"success": True}


@delete("/api/v1/probe/things/{thing_id:str}")
async def remove_thing(thing_id: FromPath[str]) -> None:
    """Say nothing; the framework declares 204 for it."""


@get("/api/v1/probe/card", media_type="application/vcard+json")
async def get_card() -> dict[str, str]:
    """Answer in another media type."""
    return {"fn": "Mara"}


@get("/api/public/probe")
async def read_public() -> dict[str, bool]:
    """Answer everyone."""
    return {"open": True}


@post("/api/public/probe", status_code=200)
async def two_cookies() -> Answer:
    """Set two headers of one name."""
    headers = (("content-type", "application/json"), ("set-cookie", "one=1"), ("set-cookie", "two=2"))
    return Answer(status=200, headers=headers, body=json.encode({"open": True}))


@get("/api/public/probe/address")
async def tell_address(address: NamedDependency[str]) -> dict[str, str]:
    """Tell who is counted."""
    return {"address": address}


PROBES = (
    send_journey,
    send_note,
    search,
    needs,
    get_thing,
    get_slug,
    breaks,
    deadlock,
    remove,
    remove_thing,
    get_card,
    read_public,
    two_cookies,
    tell_address,
)
