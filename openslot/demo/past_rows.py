"""Write past bookings in bulk, each row as the verbs would have left it, with the events but without their effects."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from openslot.demo.bulk import copy_rows, to_row
from openslot.demo.guests import REASONS, Guest, came_from
from openslot.demo.past import CANCELLED, MISSED, MOVED, PastMeeting, during
from openslot.demo.past_payments import PastPayments
from openslot.domains.accounts.models import User
from openslot.domains.availability.models import BySlug, Claimed, ClaimedHost, ClaimKind
from openslot.domains.bookings import rules
from openslot.domains.bookings.events import (
    BookingCancelled,
    BookingCreated,
    BookingEvent,
    BookingNoShowMarked,
    BookingRescheduled,
)
from openslot.domains.bookings.models import Booking, BookingWanted, Invitee, Status
from openslot.domains.bookings.store import BOOKINGS
from openslot.domains.contacts.events import ContactChanged, ContactCreated
from openslot.domains.contacts.models import Contact, fold_contact
from openslot.domains.contacts.store import CONTACTS
from openslot.domains.event_types.models import EventType
from openslot.domains.teams.models import HostRole
from openslot.platform.core.actor import Actor, ActorKind
from openslot.platform.core.db import Db
from openslot.platform.core.events import Event
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Work

INVITEE = Actor(kind=ActorKind.PUBLIC, is_demo=True)
TOPICS = ("A new site", "Pricing", "How the booking page works", "Our next campaign", "A second opinion", "")


class Happened(Struct, frozen=True):
    at: datetime
    actor: Actor
    event: Event


class PastRows:
    """All rows of a host's past."""

    def __init__(self, work: Work, host: User, chance: Random) -> None:
        self._work = work
        self._host = host
        self._host_actor = Actor(kind=ActorKind.SESSION, user_id=host.id, is_demo=True)
        self._chance = chance
        self._contacts: dict[str, tuple[Contact, Contact]] = {}
        """Each contact as first added, and with what the host has written down later."""
        self._offers: dict[UUID, EventType] = {}
        self._claims: list[dict[str, Any]] = []
        self._seats: list[dict[str, Any]] = []
        self._bookings: list[Booking] = []
        self._happened: list[Happened] = []

    async def write(self, meetings: Sequence[PastMeeting]) -> None:
        base_url = self._work.runtime.settings.public_url
        payments = PastPayments(meetings, self._tell_of_money, base_url=base_url)
        claimed = [(meeting, self._claim(meeting)) for meeting in meetings]
        booked = [(at, guest, meeting, claim_id) for meeting, claim_id in claimed for guest, at in meeting.guests]
        for at, guest, meeting, claim_id in sorted(booked, key=lambda each: each[0]):
            self._book(at, guest, meeting, claim_id, payments)
        db = self._work.db
        await copy_rows(db, "contacts", [_contact_row(contact) for _, contact in self._contacts.values()])
        await copy_rows(db, "claims", self._claims)
        await copy_rows(db, "claim_seats", self._seats)
        await copy_rows(db, "bookings", [_booking_row(each) for each in self._bookings])
        await payments.write(db)
        await write_events(db, self._happened)

    def _claim(self, meeting: PastMeeting) -> UUID:
        offer, claim_id = meeting.offer, new_id()
        self._claims.append(
            {
                "id": claim_id,
                "host_no": self._host.no,
                "kind": ClaimKind.BOOKING if offer.seats == 1 else ClaimKind.SESSION,
                "event_type_id": offer.id,
                "starts_at": meeting.starts_at,
                "ends_at": meeting.starts_at + timedelta(minutes=offer.duration_minutes),
                "during": asyncpg.Range(*during(offer, meeting.starts_at)),
                "seats": offer.seats,
                "active": meeting.fate != CANCELLED,
                "created_at": min(at for _, at in meeting.guests),
            }
        )
        self._offers[offer.id] = offer
        return claim_id

    def _book(self, at: datetime, guest: Guest, meeting: PastMeeting, claim_id: UUID, payments: PastPayments) -> None:
        """Write one booking with all that became of it."""
        offer, seat_id = meeting.offer, new_id() if meeting.offer.seats > 1 else None
        if seat_id is not None:
            self._seats.append({"id": seat_id, "claim_id": claim_id, "created_at": at})
        starts_at = meeting.previous_starts_at or meeting.starts_at
        ends_at = starts_at + timedelta(minutes=offer.duration_minutes)
        host = ClaimedHost(
            user_id=self._host.id,
            host_no=self._host.no,
            name=self._host.name,
            claim_id=claim_id,
            group_id=None,
            role=HostRole.ORGANIZER,
        )
        claimed = Claimed(
            claim_id=claim_id,
            seat_id=seat_id,
            event_type=offer,
            starts_at=starts_at,
            ends_at=ends_at,
            hosts=(host,),
        )
        contact, wanted = self._find_contact(guest, at, INVITEE), self._wish(guest, claimed)
        booking = payments.pay(rules.draft(claimed, contact, wanted, actor=INVITEE, now=at), offer)
        self._tell(BookingCreated, booking, guest, at, INVITEE)
        payments.tell_received(booking, offer)
        if meeting.fate == MOVED:
            booking = self._move(booking, guest, meeting.starts_at)
        elif meeting.fate == CANCELLED:
            booking = self._cancel(booking, guest)
        elif meeting.fate == MISSED and booking.ends_at + timedelta(minutes=20) < self._work.now:
            booking = replace(booking, no_show=True, updated_at=booking.ends_at + timedelta(minutes=5))
            self._tell(BookingNoShowMarked, booking, guest, booking.updated_at, self._host_actor)
        self._bookings.append(payments.settle(booking, meeting))

    def _wish(self, guest: Guest, claimed: Claimed) -> BookingWanted:
        answers = {each.key: self._chance.choice(each.options or TOPICS) for each in claimed.event_type.questions}
        return BookingWanted(
            which=BySlug(self._host.id, claimed.event_type.slug),
            starts_at=claimed.starts_at,
            invitee=Invitee(name=guest.name, email=guest.email, zone=guest.zone),
            notes=guest.note or None,
            answers={key: answer for key, answer in answers.items() if answer},
        )

    def _move(self, booking: Booking, guest: Guest, starts_at: datetime) -> Booking:
        at, ends_at = self._between(booking, until=starts_at), starts_at + (booking.ends_at - booking.starts_at)
        moved = replace(
            booking,
            starts_at=starts_at,
            ends_at=ends_at,
            sequence=1,
            reschedule_count=1,
            previous_starts_at=booking.starts_at,
            updated_at=at,
        )
        before = {"previous_starts_at": booking.starts_at, "previous_ends_at": booking.ends_at}
        self._tell(BookingRescheduled, moved, guest, at, INVITEE, reason=self._chance.choice(REASONS), **before)
        return moved

    def _cancel(self, booking: Booking, guest: Guest) -> Booking:
        at, actor = self._between(booking), self._chance.choice((INVITEE, INVITEE, self._host_actor))
        cancelled = replace(
            booking,
            status=Status.CANCELLED,
            cancelled_at=at,
            cancel_reason=self._chance.choice(REASONS),
            cancelled_by=rules.name_canceller(actor, host_ids=[self._host.id]),
            sequence=1,
            updated_at=at,
        )
        self._tell(BookingCancelled, cancelled, guest, at, actor)
        return cancelled

    def _between(self, booking: Booking, until: datetime | None = None) -> datetime:
        """Choose a moment after it was booked, and as long before it begins as its event type asks for."""
        notice = timedelta(minutes=self._offers[booking.event_type_id].min_notice_minutes)
        ahead = min(booking.starts_at, until or booking.starts_at) - notice - booking.created_at
        return (booking.created_at + ahead * self._chance.uniform(0.2, 0.95)).replace(microsecond=0)

    def _find_contact(self, guest: Guest, at: datetime, actor: Actor) -> Contact:
        """Return a contact as it was known then; the first booking adds it, and its host soon completes it."""
        if guest.email not in self._contacts:
            fresh = Contact(
                id=new_id(), owner_id=self._host.id, name=guest.name, email=guest.email, created_at=at, updated_at=at
            )
            self._happened.append(Happened(at, actor, ContactCreated(contact=fresh)))
            self._contacts[guest.email] = (fresh, self._complete(fresh, guest))
        fresh, known = self._contacts[guest.email]
        return known if known.updated_at < at else fresh

    def _complete(self, contact: Contact, guest: Guest) -> Contact:
        if not (guest.phone or guest.company or guest.tags):
            return contact
        at = contact.created_at + timedelta(minutes=20)
        known = replace(
            contact, phone=guest.phone or None, company=guest.company or None, tags=guest.tags, updated_at=at
        )
        self._happened.append(Happened(at, self._host_actor, ContactChanged(contact=known)))
        return known

    def _tell(
        self, event: type[BookingEvent], booking: Booking, guest: Guest, at: datetime, actor: Actor, **more: Any
    ) -> None:
        offer = self._offers[booking.event_type_id]
        base_url = self._work.runtime.settings.public_url
        fact = event(
            booking=booking, event_type=offer, contact=self._find_contact(guest, at, actor), base_url=base_url, **more
        )
        self._happened.append(Happened(at, actor, fact))

    def _tell_of_money(self, at: datetime, event: Event) -> None:
        self._happened.append(Happened(at, INVITEE, event))


def _contact_row(contact: Contact) -> dict[str, Any]:
    searched = fold_contact(name=contact.name, email=contact.email, company=contact.company)
    return {**to_row(CONTACTS, contact), "search_text": searched}


def _booking_row(booking: Booking) -> dict[str, Any]:
    return {**to_row(BOOKINGS, booking), "source": came_from(booking.invitee_name)}


async def write_events(db: Db, happened: list[Happened]) -> None:
    """Add events without effects, in the order in which they happened."""
    await copy_rows(db, "events", [_event_row(each) for each in sorted(happened, key=lambda each: each.at)])


def _event_row(happened: Happened) -> dict[str, Any]:
    event = happened.event
    kind, subject_id = event.subject
    public = event.public()
    return {
        "id": new_id(),
        "type": event.type,
        "at": happened.at,
        "actor": _json(happened.actor),
        "tenant_id": event.tenant_id,
        "subject_kind": kind,
        "subject_id": subject_id,
        "fact": _json(event),
        "public": _json(public) if public is not None else None,
    }


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
