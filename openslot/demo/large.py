"""A large installation, written in bulk: many hosts, each with hours, an offer, contacts and bookings."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
from msgspec import Struct

from openslot.demo.bulk import copy_rows
from openslot.domains.access.models import CredentialKind, new_key
from openslot.domains.accounts.store import list_users_by_id
from openslot.domains.contacts.models import fold_contact
from openslot.domains.event_types.models import Location, LocationKind, RollingWindow
from openslot.domains.schedules.operations import OFFICE_HOURS
from openslot.platform.core.ids import fingerprint, new_id

SLOTS_A_DAY = 16
CONTACTS_A_HOST = 20
FIRST_NAMES = ("Ana", "Björn", "Chidi", "Dilnoza", "Ewa", "Farid", "Grace", "Hana", "Ivo", "Jun")
LAST_NAMES = ("Ahmed", "Berg", "Costa", "Dumas", "Eriksen", "Ferreira", "Gruber", "Haddad", "Ito", "Kim")

Progress = Callable[[int], None]


class LargeHost(Struct, frozen=True, kw_only=True):
    """One of many hosts, with a key that is shown only once."""

    id: UUID
    no: int
    number: int
    schedule_id: UUID
    event_type_id: UUID
    api_key: str


async def make_large(
    connection: asyncpg.Connection, *, hosts: int, bookings: int, now: datetime, progress: Progress
) -> list[LargeHost]:
    """Write everything and report progress after each part; existing data stays."""
    made = await _make_hosts(connection, hosts, now)
    progress(hosts)
    contacts = {host.id: [new_id() for _ in range(CONTACTS_A_HOST)] for host in made}
    await copy_rows(connection, "contacts", _contacts(made, contacts, now))
    per_host = bookings // hosts
    for begin in range(0, hosts, 50):
        part = made[begin : begin + 50]
        claims, booked = _bookings(part, contacts, per_host, now)
        await copy_rows(connection, "claims", claims)
        await copy_rows(connection, "bookings", booked)
        progress(len(part) * per_host)
    await connection.execute("analyze")
    return made


async def _make_hosts(connection: asyncpg.Connection, count: int, now: datetime) -> list[LargeHost]:
    suffix = new_id().hex[-8:]
    ids = [new_id() for _ in range(count)]
    users = [
        {
            "id": user_id,
            "email": f"host{n}.{suffix}@large.example",
            "name": _name(n),
            "username": f"host{n}-{suffix}",
            "plan": "PRO",
            "created_at": now,
            "updated_at": now,
        }
        for n, user_id in enumerate(ids)
    ]
    await copy_rows(connection, "users", users)
    found = await list_users_by_id(connection, ids, now=now)
    made = [
        LargeHost(
            id=user_id,
            no=found[user_id].no,
            number=n,
            schedule_id=new_id(),
            event_type_id=new_id(),
            api_key=new_key(CredentialKind.API_KEY),
        )
        for n, user_id in enumerate(ids)
    ]
    await copy_rows(connection, "schedules", [_schedule(host, now) for host in made])
    await copy_rows(connection, "event_types", [_event_type(host, now) for host in made])
    await copy_rows(connection, "api_keys", [_key(host, now) for host in made])
    return made


def _schedule(host: LargeHost, now: datetime) -> dict[str, Any]:
    return {
        "id": host.schedule_id,
        "owner_id": host.id,
        "name": "Working hours",
        "zone": "UTC",
        "weekly_hours": msgspec.json.encode(OFFICE_HOURS).decode(),
        "overrides": "[]",
        "created_at": now,
        "updated_at": now,
    }


def _event_type(host: LargeHost, now: datetime) -> dict[str, Any]:
    return {
        "id": host.event_type_id,
        "owner_id": host.id,
        "schedule_id": host.schedule_id,
        "name": "30 minute meeting",
        "slug": "30min",
        "description": "",
        "color": "#2563eb",
        "duration_minutes": 30,
        "buffer_before": 0,
        "buffer_after": 0,
        "location": msgspec.json.encode(Location(LocationKind.PHONE)).decode(),
        "min_notice_minutes": 0,
        "booking_window": msgspec.json.encode(RollingWindow(90)).decode(),
        "seats": 1,
        "questions": "[]",
        "position": 0,
        "active": True,
        "created_at": now,
        "updated_at": now,
    }


def _key(host: LargeHost, now: datetime) -> dict[str, Any]:
    return {
        "id": new_id(),
        "user_id": host.id,
        "name": "Large",
        "hash": fingerprint(host.api_key),
        "last_four": host.api_key[-4:],
        "created_at": now,
    }


def _contacts(hosts: list[LargeHost], contacts: dict[UUID, list[UUID]], now: datetime) -> list[dict[str, Any]]:
    return [_contact(host, contact_id, n, now) for host in hosts for n, contact_id in enumerate(contacts[host.id])]


def _contact(host: LargeHost, contact_id: UUID, number: int, now: datetime) -> dict[str, Any]:
    searched = {
        "name": _name(host.number + number),
        "email": f"contact{number}@large.example",
        "company": f"{LAST_NAMES[number % 10]} & Co",
    }
    return {
        "id": contact_id,
        "owner_id": host.id,
        **searched,
        "search_text": fold_contact(**searched),
        "created_at": now,
        "updated_at": now,
    }


def _bookings(
    hosts: list[LargeHost], contacts: dict[UUID, list[UUID]], per_host: int, now: datetime
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    claims, bookings = [], []
    for host in hosts:
        for n, starts_at in enumerate(_starts(per_host, now)):
            claim, contact = new_id(), n % CONTACTS_A_HOST
            times = {"starts_at": starts_at, "ends_at": starts_at + timedelta(minutes=30)}
            claims.append(
                {
                    "id": claim,
                    "host_no": host.no,
                    "kind": "booking",
                    "event_type_id": host.event_type_id,
                    "during": asyncpg.Range(starts_at, times["ends_at"]),
                    "created_at": now,
                    **times,
                }
            )
            bookings.append(
                {
                    "id": new_id(),
                    "host_id": host.id,
                    "event_type_id": host.event_type_id,
                    "contact_id": contacts[host.id][contact],
                    "claim_id": claim,
                    "status": "CONFIRMED",
                    "invitee_name": _name(host.number + contact),
                    "invitee_email": f"contact{contact}@large.example",
                    "invitee_zone": "Europe/Berlin",
                    "location": msgspec.json.encode(Location(LocationKind.PHONE)).decode(),
                    "answers": "{}",
                    "created_at": now,
                    "updated_at": now,
                    **times,
                }
            )
    return claims, bookings


def _starts(count: int, now: datetime) -> Iterator[datetime]:
    """Spread bookings evenly over workdays, half of them in the past, on starts of the office hours."""
    days = max(60, -(-count // 8))
    monday = (now - timedelta(days=now.weekday() + days // 2 // 5 * 7)).date()
    stride = max(1, days * SLOTS_A_DAY // max(1, count))
    for index in range(0, count * stride, stride):
        workday, slot = divmod(index, SLOTS_A_DAY)
        day = monday + timedelta(days=workday // 5 * 7 + workday % 5)
        yield datetime(day.year, day.month, day.day, 9, tzinfo=UTC) + timedelta(minutes=30 * slot)


def _name(number: int) -> str:
    return f"{FIRST_NAMES[number % 10]} {LAST_NAMES[number // 10 % 10]}"
