"""Handlers that are there to be asked badly: one for each way in which a request can carry a value."""

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import asyncpg
from msgspec import Meta, Struct, to_builtins

from openslot.platform.core.text import Name, Prose
from openslot.platform.core.work import Work
from openslot.platform.routing import Cookie, Query, Request, Response, delete, get, post, put
from openslot.platform.routing.listings import Limit, PageNumber, To


class Color(StrEnum):
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
    color: Color = Color.RED
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


@post("/api/v1/probe")
async def send_journey(data: Journey, work: Work) -> dict[str, Any]:
    """Take a body, and see whether PostgreSQL takes what is in it."""
    await work.db.fetchval("select $1::text || $2::text", data.name, data.notes or data.remark)
    await work.db.fetchval("select $1::bigint + 0 * $2::float8", data.number, data.price)
    await work.db.fetchval("select $1::timestamptz", data.first_stop.starts_at if data.first_stop else None)
    await work.db.fetchval("select $1::text[] || $2::text[]", data.tags, [*data.answers, *data.answers.values()])
    return {"journey": to_builtins(data)}


@post("/api/v1/probe/note")
async def send_note(data: Note | None = None) -> dict[str, bool]:
    """Take a body or none."""
    return {"given": data is not None}


@get("/api/v1/probe")
async def search(
    work: Work,
    page: PageNumber = 1,
    limit: Limit = 20,
    q: Annotated[str | None, Query()] = None,
    at: Annotated[datetime | None, Query()] = None,
    since: Annotated[date | None, Query("from")] = None,
    color: Annotated[Color | None, Query()] = None,
    number: Annotated[int, Query()] = 0,
    share: Annotated[float, Query()] = 0.0,
    tag: Annotated[list[str] | None, Query()] = None,
    to: To = None,
) -> dict[str, Any]:
    """Take a query, and see whether PostgreSQL takes what is in it."""
    await work.db.fetchval("select $1::text || $2::bigint || $3::timestamptz || $4::float8", q, number, at, share)
    return {"page": page, "limit": limit, "q": q, "color": color, "from": since, "tag": tag, "to": to}


@get("/api/v1/probe/needs")
async def needs(zone: Annotated[str, Query()], seats: Annotated[int, Meta(ge=1), Query()]) -> dict[str, object]:
    """Need two parameters."""
    return {"zone": zone, "seats": seats}


@get("/api/v1/probe/things/{thing_id}")
async def get_thing(thing_id: UUID) -> dict[str, str]:
    """Take an id."""
    return {"id": str(thing_id)}


@get("/api/v1/probe/slugs/{slug}")
async def get_slug(slug: str, work: Work) -> dict[str, str]:
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


@delete("/api/v1/probe")
async def remove() -> dict[str, bool]:
    """Take no body."""
    return {"success": True}


@delete("/api/v1/probe/things/{thing_id}", status=204)
async def remove_thing(thing_id: str) -> None:
    """Say nothing."""


@get("/api/v1/probe/card", media_type="application/vcard+json")
async def get_card() -> dict[str, str]:
    """Answer in another media type."""
    return {"fn": "Mara"}


@get("/api/public/probe")
async def read_public() -> dict[str, bool]:
    """Answer everyone."""
    return {"open": True}


@post("/api/public/probe")
async def two_cookies() -> Response:
    """Set two cookies."""
    cookies = tuple(Cookie(name=name, value="1", max_age=1, secure=False) for name in ("one", "two"))
    return Response(cookies=cookies, body={"open": True})


@get("/api/public/probe/address")
async def tell_address(request: Request) -> dict[str, str]:
    """Tell who is counted."""
    return {"address": request.address}


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
