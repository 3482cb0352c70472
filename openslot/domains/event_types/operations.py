"""The verbs of event types, the only writers of its table."""

from collections.abc import Sequence
from itertools import count
from uuid import UUID

import asyncpg
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.accounts.profiles.store import to_page_brand
from openslot.domains.accounts.store import lock_host
from openslot.domains.event_types import errors, store
from openslot.domains.event_types.accounts.operations import check_account_of_event_type, tell_account_chosen
from openslot.domains.event_types.events import EventTypeAdded
from openslot.domains.event_types.locations import name_locations, path_of
from openslot.domains.event_types.models import (
    EventType,
    EventTypeOverview,
    HostPage,
    Location,
    OverviewPage,
    SealedToken,
)
from openslot.domains.event_types.ports import Conferences
from openslot.domains.event_types.rules import (
    EDITED,
    NOT_WITH_TEAM,
    check_redirect,
    find_changed,
    find_event_type_faults,
    order_durations,
    take_edits,
)
from openslot.domains.event_types.store import EVENT_TYPES
from openslot.domains.schedules.models import Schedule
from openslot.domains.schedules.operations import get_schedule, list_out_of_office
from openslot.platform.core.db import Row
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.ids import fingerprint, new_id, new_token
from openslot.platform.core.secrets import SealBroken
from openslot.platform.core.work import Work
from openslot.platform.i18n import Text

# The fields that a form edits. Its order, its link and whether it is offered have verbs of their own.
TOKENS = "private tokens"


async def add_event_type(work: Work, schedule: Schedule, wanted: EventType) -> EventType:
    """Add an event type after the existing ones."""
    made = await add_first_event_type(work, schedule, wanted)
    await work.record(EventTypeAdded(event_type_id=made.id, owner_id=made.owner_id, slug=made.slug))
    return made


async def add_first_event_type(work: Work, schedule: Schedule, wanted: EventType) -> EventType:
    """Add the event type that an account begins with, which belongs to the opening of the account."""
    made = replace(
        wanted,
        id=new_id(),
        owner_id=schedule.owner_id,
        schedule_id=schedule.id,
        created_at=work.now,
        updated_at=work.now,
    )
    checked = _checked(made)
    await _check_conferences(work, checked)
    await check_account_of_event_type(work, checked)
    check_redirect(checked.redirect_url, own_url=work.runtime.settings.public_url)
    try:
        account = await store.insert_event_type(work.db, checked)
    except asyncpg.UniqueViolationError:
        raise errors.EventTypeSlugAlreadyExists from None
    if checked.is_private:
        await store.set_private_token(work.db, checked, seal_token(work, checked.id, new_token()))
    return replace(checked, payment_connection_id=account)


def draft_event_type(work: Work, schedule: Schedule, *, name: str, slug: str, duration_minutes: int) -> EventType:
    """Draft an event type with defaults that suit most hosts."""
    return EventType(
        id=new_id(),
        owner_id=schedule.owner_id,
        schedule_id=schedule.id,
        name=name,
        slug=slug,
        duration_minutes=duration_minutes,
        created_at=work.now,
        updated_at=work.now,
    )


async def get_event_type(work: Work, owner: User, event_type_id: UUID) -> EventType:
    return require(await store.find_event_type(work.db, owner.id, event_type_id), errors.EventTypeNotFound)


async def get_event_type_by_slug(work: Work, owner: User, slug: str) -> EventType:
    """Read an event type by its short name, which nobody else changes before the commit."""
    await lock_host(work.db, owner.id)
    return require(await store.find_by_slug(work.db, owner.id, slug), errors.EventTypeNotFound)


async def get_event_type_with_schedule(work: Work, owner: User, event_type_id: UUID) -> tuple[EventType, Schedule]:
    event_type = await get_event_type(work, owner, event_type_id)
    schedule = await get_schedule(work, owner, event_type.schedule_id)
    away = tuple(span for _, span in await list_out_of_office(work, owner))
    return event_type, replace(schedule, out_of_office=away)


async def list_event_types(
    work: Work, owner: User, *, only_active: bool = False, page: int = 1, limit: int = 100
) -> tuple[list[EventType], int]:
    """Read one page of a host's event types by position, and how many there are."""
    return await store.list_event_types(
        work.db, owner.id, only_active=only_active, limit=limit, offset=(page - 1) * limit
    )


async def list_all_event_types(
    work: Work, *, owner_id: UUID | None, active: bool | None, page: int, limit: int
) -> tuple[list[EventType], int]:
    """Read one page of a host's event types by position, or of all hosts' by age, newest first."""
    return await store.list_all_event_types(
        work.db, owner_id=owner_id, active=active, limit=limit, offset=(page - 1) * limit
    )


async def list_event_types_of_team(work: Work, team_id: UUID) -> list[EventType]:
    """List the event types of a team by slug."""
    return await store.list_of_team(work.db, team_id)


async def get_any_event_type(work: Work, event_type_id: UUID) -> EventType:
    return require(await store.find_any_event_type(work.db, event_type_id), errors.EventTypeNotFound)


async def get_page_of_host(work: Work, username: str) -> HostPage:
    rows = await store.find_host_page(work.db, username)
    if not rows:
        raise errors.HostNotFound
    offered = tuple(EVENT_TYPES.read(row) for row in rows if row["id"] is not None)
    head = rows[0]
    return HostPage(
        host_id=head["host_id"],
        name=head["host_name"],
        username=head["host_username"],
        zone=head["host_zone"],
        welcome=head["welcome"],
        photo=head["photo"],
        color=head["brand_color"],
        brand=to_page_brand(head),
        event_types=offered,
    )


async def change_event_type(work: Work, event_type: EventType) -> EventType:
    """Save an event type except its private link, unless someone has changed it since it was read."""
    checked = _checked(replace(event_type, updated_at=work.now))
    await store.lock_event_type(work.db, event_type.owner_id, event_type.id)
    try:
        account = await store.update_event_type(work.db, checked, read_at=event_type.updated_at)
    except asyncpg.UniqueViolationError:
        raise errors.EventTypeSlugAlreadyExists from None
    if account is None:
        exists = await store.find_any_event_type(work.db, event_type.id)
        raise errors.EventTypeChanged if exists else errors.EventTypeNotFound
    changed = replace(checked, payment_connection_id=account.now)
    if account.was and account.now and account.was != account.now:
        await tell_account_chosen(work, changed)
    return changed


async def get_event_type_for_change(work: Work, owner: User, event_type_id: UUID) -> EventType:
    """Read an event type that nobody else changes before the commit."""
    await store.lock_event_type(work.db, owner.id, event_type_id)
    return await get_event_type(work, owner, event_type_id)


async def change_event_type_owner(work: Work, event_type: EventType, schedule: Schedule) -> EventType:
    """Give a team's event type to the owner of a schedule, with its links; a slug that is taken there gets a number."""
    slug = await store.find_slug_for(work.db, event_type, schedule.owner_id)
    moved = replace(event_type, owner_id=schedule.owner_id, schedule_id=schedule.id, slug=slug, updated_at=work.now)
    if not await store.update_owner(work.db, moved, left_by=event_type.owner_id):
        raise errors.EventTypeNotFound
    return moved


async def edit_event_type(
    work: Work, owner: User, edited: EventType, *, edition: str, fields: Sequence[str] = EDITED
) -> EventType:
    """Save the fields that a form edits, unless one of them has changed since the form was shown."""
    current = await get_event_type_for_change(work, owner, edited.id)
    edited = take_edits(current, edited, fields)
    if find_changed(current, since=edition, fields=fields):
        raise errors.EventTypeChanged
    if edited.schedule_id != current.schedule_id:
        await get_schedule(work, owner, edited.schedule_id)
    await _check_conferences(work, edited, known=current.all_locations)
    if edited.redirect_url != current.redirect_url:
        check_redirect(edited.redirect_url, own_url=work.runtime.settings.public_url)
    await check_account_of_event_type(work, edited, known=current.payment_connection_id)
    return await change_event_type(work, edited)


async def set_event_type_active(work: Work, event_type: EventType, *, active: bool) -> EventType:
    return await change_event_type(work, replace(event_type, active=active))


async def make_event_type_private(work: Work, event_type: EventType) -> EventType:
    """Remove an event type from the host's page and give it a new private link."""
    private = await change_event_type(work, replace(event_type, is_private=True))
    await store.set_private_token(work.db, private, seal_token(work, private.id, new_token()))
    return private


async def make_event_type_public(work: Work, event_type: EventType) -> EventType:
    """Put an event type on the host's page; its private link stops working."""
    public = await change_event_type(work, replace(event_type, is_private=False))
    await store.set_private_token(work.db, public, None)
    return public


def seal_token(work: Work, event_type_id: UUID, token: str) -> SealedToken:
    """Turn a private token into the form in which it is stored."""
    sealed = work.runtime.cipher.seal(TOKENS, token.encode(), owner=event_type_id.bytes)
    return SealedToken(fingerprint(token), sealed)


async def move_event_type(work: Work, owner: User, event_type_id: UUID, *, before: UUID | None) -> None:
    """Show an event type before another one of the same host, or after all others."""
    await lock_host(work.db, owner.id)
    order = await store.list_ids(work.db, owner.id)
    if event_type_id not in order:
        raise errors.EventTypeNotFound
    if before is not None and before not in order:
        raise Invalid(details={"before": "must be one of your event types"})
    if before == event_type_id:
        return
    order.remove(event_type_id)
    order.insert(len(order) if before is None else order.index(before), event_type_id)
    await store.update_positions(work.db, owner.id, order, now=work.now)


async def find_free_slug(work: Work, owner: User, wanted: str) -> str:
    """Choose a slug that none of a host's event types has: the wanted one, or else one with a number."""
    taken = await store.list_slugs(work.db, owner.id, beginning=wanted)
    numbered = (wanted if number == 1 else f"{wanted}-{number}" for number in count(1))
    return next(slug for slug in numbered if slug not in taken)


async def delete_event_type(work: Work, event_type: EventType) -> None:
    """Delete an event type with its holds; one that was booked before can only be deactivated."""
    await store.lock_event_type(work.db, event_type.owner_id, event_type.id)
    try:
        gone = await store.delete_event_type(work.db, event_type.owner_id, event_type.id)
    except asyncpg.ForeignKeyViolationError:
        raise errors.EventTypeInUse from None
    if not gone:
        raise errors.EventTypeNotFound


def _checked(event_type: EventType) -> EventType:
    faults = find_event_type_faults(event_type)
    if faults:
        raise Invalid(details=faults)
    named = name_locations(event_type)
    return replace(named, name=event_type.name.strip(), durations=order_durations(event_type.durations))


async def _check_conferences(work: Work, event_type: EventType, *, known: Sequence[Location] = ()) -> None:
    """Refuse services for video calls that a host can't have links of; those that are kept need no check."""
    kept = {each.conference for each in known}
    for index, each in enumerate(event_type.all_locations):
        if not each.conference or each.conference in kept:
            continue
        conference = work.runtime.ports.get(Conferences).find(each.conference)
        missing = Text("is not set up at this site")
        obstacle = await conference.find_obstacle(work, event_type.owner_id) if conference else missing
        if conference is not None and event_type.team_id is not None and conference.compute() is None:
            # The link would be asked of one person's account, and who hosts is chosen for each booking.
            obstacle = NOT_WITH_TEAM
        if obstacle is not None:
            raise Invalid(details={f"{path_of(event_type, index)}.conference": obstacle})


async def list_event_type_overview(work: Work, owner: User, *, active: bool, page: int, limit: int) -> OverviewPage:
    """Read one page of a host's event types that are offered or archived, and how many there are of both."""
    rows = await store.list_rows(work.db, owner.id, active=active, now=work.now, limit=limit, offset=(page - 1) * limit)
    entries = tuple(_to_overview(work, row) for row in rows if row["id"] is not None)
    return OverviewPage(entries=entries, offered=rows[0]["offered"], archived=rows[0]["archived"])


async def get_event_type_overview(work: Work, owner: User, event_type_id: UUID) -> EventTypeOverview:
    row = require(await store.find_row(work.db, owner.id, event_type_id, now=work.now), errors.EventTypeNotFound)
    return _to_overview(work, row)


def _to_overview(work: Work, row: Row) -> EventTypeOverview:
    return EventTypeOverview(
        event_type=EVENT_TYPES.read(row),
        upcoming=row["upcoming"],
        was_booked=row["was_booked"],
        token=_find_token(work, row),
        team_page=row["team_page"],
    )


def _find_token(work: Work, row: Row) -> str | None:
    """Open the private token that links contain; None if there is none, or the key that encrypted it is lost."""
    if row["private_sealed"] is None:
        return None
    try:
        return work.runtime.cipher.open(TOKENS, row["private_sealed"], owner=row["id"].bytes).decode()
    except SealBroken:
        return None
