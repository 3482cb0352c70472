"""The verbs of webhooks, the only writers of its tables."""

from collections.abc import Sequence
from uuid import UUID

from msgspec import UNSET
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.webhooks import delivery_log_store, errors, rules, store
from openslot.domains.webhooks.events import WebhookDisabled, WebhookTested
from openslot.domains.webhooks.models import (
    HAS_FAILED,
    IS_GONE,
    Attempt,
    DeliveryFilter,
    Endpoint,
    EndpointChanges,
    EndpointOverview,
    EndpointRef,
    EndpointWanted,
    LoggedDelivery,
    PastEvent,
    Replay,
    State,
)
from openslot.domains.webhooks.schemas import PUBLISHED_TYPES, complete, write_body
from openslot.domains.webhooks.store import DELIVER
from openslot.platform.core.effects import replay_lane
from openslot.platform.core.errors import Invalid, require
from openslot.platform.core.events import Change, NewEffect, insert_effects, make_changes
from openslot.platform.core.ids import new_id
from openslot.platform.core.moments import Span
from openslot.platform.core.sealing import seal
from openslot.platform.core.secrets import SealBroken
from openslot.platform.core.work import Runtime, Work

BODIES, ANSWERS = "webhook bodies", "webhook answers"


def seal_body(runtime: Runtime, event_id: UUID, body: bytes) -> bytes:
    return runtime.cipher.seal(BODIES, body, owner=event_id.bytes)


def open_body(runtime: Runtime, event_id: UUID, sealed: bytes | None) -> bytes | None:
    """Open the bytes of an event's body; None if nothing is kept, or the key that sealed it is lost."""
    return _open(runtime, BODIES, sealed, owner=event_id)


def seal_answer(runtime: Runtime, attempt_id: UUID, answer: bytes | None) -> bytes | None:
    """Seal a receiver's answer, because it may repeat what it was sent."""
    return None if answer is None else runtime.cipher.seal(ANSWERS, answer, owner=attempt_id.bytes)


def open_answer(runtime: Runtime, attempt_id: UUID, sealed: bytes | None) -> bytes | None:
    """Open what a receiver answered; None if it has answered nothing, or the key that sealed it is lost."""
    return _open(runtime, ANSWERS, sealed, owner=attempt_id)


def _open(runtime: Runtime, purpose: str, sealed: bytes | None, *, owner: UUID) -> bytes | None:
    if sealed is None:
        return None
    try:
        return runtime.cipher.open(purpose, sealed, owner=owner.bytes)
    except SealBroken:
        return None


async def add_endpoint(work: Work, owner: User, wanted: EndpointWanted) -> tuple[Endpoint, str]:
    """Begin to send events to a URL, and return the signing secret, which is shown only once."""
    work.runtime.outbound.check_url(wanted.url)
    endpoint = Endpoint(
        id=new_id(),
        owner_id=owner.id,
        url=wanted.url,
        description=rules.check_description(wanted.description),
        events=rules.check_events(wanted.events, PUBLISHED_TYPES),
        state_since=work.now,
        created_at=work.now,
        updated_at=work.now,
    )
    secret = rules.new_secret()
    if not await store.insert_endpoint(work.db, endpoint, await seal(work, secret), max_=rules.MAX_ENDPOINTS):
        raise errors.WebhookLimitExceeded(rules.MAX_ENDPOINTS)
    return endpoint, secret


async def get_endpoint(work: Work, ref: EndpointRef, *, lock: bool = False) -> Endpoint:
    """Read an endpoint; with a lock, others can't change it until the commit."""
    return require(await store.find_endpoint(work.db, ref, lock=lock), errors.WebhookNotFound)


async def list_endpoints(work: Work, owner: User | None) -> list[Endpoint]:
    return await store.list_endpoints(work.db, owner.id if owner else None)


async def change_endpoint(work: Work, ref: EndpointRef, changes: EndpointChanges) -> Endpoint:
    endpoint = await get_endpoint(work, ref, lock=True)
    if changes.url is not UNSET:
        work.runtime.outbound.check_url(changes.url)
        endpoint = replace(endpoint, url=changes.url)
    if changes.events is not UNSET:
        endpoint = replace(endpoint, events=rules.check_events(changes.events, PUBLISHED_TYPES))
    if changes.description is not UNSET:
        endpoint = replace(endpoint, description=rules.check_description(changes.description))
    return await _keep(work, endpoint)


async def pause_endpoint(work: Work, ref: EndpointRef) -> Endpoint:
    """Send an endpoint nothing until it is resumed; what happens meanwhile can be replayed."""
    return await _switch(work, await get_endpoint(work, ref, lock=True), State.PAUSED)


async def resume_endpoint(work: Work, ref: EndpointRef) -> Endpoint:
    """Resume sending events to an endpoint, whatever the reason it was stopped."""
    return await _switch(work, replace(await get_endpoint(work, ref, lock=True), failing_since=None), State.ACTIVE)


async def rotate_endpoint_secret(work: Work, ref: EndpointRef) -> tuple[Endpoint, str]:
    """Give an endpoint a new secret, shown only once; the previous one also signs for a day."""
    endpoint = await get_endpoint(work, ref, lock=True)
    since = endpoint.previous_until - rules.SECRETS_OVERLAP if endpoint.previous_until else None
    if since is not None and work.now < since + rules.ROTATE_AGAIN_AFTER:
        raise errors.SecretRecentlyRotated
    secret = rules.new_secret()
    rotated = replace(endpoint, previous_until=work.now + rules.SECRETS_OVERLAP, updated_at=work.now)
    await store.rotate_secret(work.db, rotated, await seal(work, secret))
    return rotated, secret


async def delete_endpoint(work: Work, ref: EndpointRef) -> None:
    if not await store.delete_endpoint(work.db, ref):
        raise errors.WebhookNotFound


async def send_test_event(work: Work, ref: EndpointRef) -> Endpoint:
    """Send a test to one endpoint, whatever its state."""
    endpoint = await get_endpoint(work, ref)
    await work.record(WebhookTested(endpoint_id=endpoint.id, owner_id=endpoint.owner_id))
    return endpoint


async def replay_delivery(work: Work, attempt_id: UUID, *, owner_id: UUID | None) -> Endpoint:
    """Send the event of one try again, with the same id and the same bytes."""
    found = require(await store.find_attempt(work.db, attempt_id, owner_id=owner_id), errors.DeliveryNotFound)
    endpoint, event = found
    if event.type == WebhookTested.type:
        return await send_test_event(work, EndpointRef(endpoint.id, endpoint.owner_id))
    await _send_again(work, endpoint, (event,))
    return endpoint


async def replay_events(work: Work, ref: EndpointRef, span: Span, which: Replay) -> int:
    """Send the events of a span that an endpoint subscribes to and that are not under way; return how many."""
    endpoint = await get_endpoint(work, ref)
    events = await store.list_events_in(work.db, endpoint, span, but=which.but, limit=rules.MAX_REPLAYED)
    await _send_again(work, endpoint, events)
    return len(events)


async def count_replayed_events(work: Work, ref: EndpointRef, span: Span, which: Replay) -> int:
    """Count what `replay` would send."""
    return await store.count_events_in(
        work.db, await get_endpoint(work, ref), span, but=which.but, limit=rules.MAX_REPLAYED
    )


async def keep_message(work: Work, event: PastEvent) -> None:
    """Make the bytes of an event's body and store them, unless they are already stored."""
    sealed = seal_body(work.runtime, event.id, write_body(complete(work.runtime, event)))
    kept = await store.keep_body(work.db, event.id, sealed, now=work.now)
    if open_body(work.runtime, event.id, kept) is None:
        await store.replace_body(work.db, event.id, sealed)


def log_success(work: Work, attempt: Attempt) -> tuple[Change, ...]:
    """Log a try that has arrived."""
    return _log_attempt(work, attempt), store.note_success(attempt.endpoint_id)


def _log_attempt(work: Work, attempt: Attempt) -> Change:
    answer = seal_answer(work.runtime, attempt.id, attempt.answer)
    return store.insert_attempt(replace(attempt, answer=answer))


async def log_failure(work: Work, attempt: Attempt) -> None:
    """Log a try that has failed; switch the endpoint off if it is gone or every try has failed for days."""
    await make_changes(work.db, [_log_attempt(work, attempt)])
    failing_since = await store.note_failure(work.db, attempt)
    if failing_since is None:
        return
    if attempt.status == rules.GONE:
        await _disable(work, EndpointRef(attempt.endpoint_id), reason=IS_GONE.kept)
    elif rules.is_hopeless(failing_since, now=attempt.at):
        await _disable(work, EndpointRef(attempt.endpoint_id), reason=HAS_FAILED.kept)


async def list_endpoint_overviews(work: Work, owner: User) -> list[EndpointOverview]:
    return await delivery_log_store.list_overview(work.db, owner.id)


async def get_endpoint_overview(work: Work, owner: User, endpoint_id: UUID) -> EndpointOverview:
    return require(await delivery_log_store.find_overview(work.db, endpoint_id, owner.id), errors.WebhookNotFound)


async def list_deliveries(
    work: Work, owner: User, endpoint_id: UUID, wanted: DeliveryFilter, *, page: int, limit: int
) -> tuple[list[LoggedDelivery], bool]:
    """Read one page of an endpoint's tries, newest first, and whether there are more."""
    ref = EndpointRef(endpoint_id, owner.id)
    found = await delivery_log_store.list_deliveries(work.db, ref, wanted, limit=limit + 1, offset=(page - 1) * limit)
    return found[:limit], len(found) > limit


async def list_attempts(
    work: Work, ref: EndpointRef, *, only_failed: bool = False, page: int = 1, limit: int = 20
) -> tuple[list[LoggedDelivery], int]:
    """Read one page of the tries at an endpoint, newest first, and how many there are."""
    endpoint = await get_endpoint(work, ref)
    logged, total = await delivery_log_store.list_attempts(
        work.db, endpoint, only_failed=only_failed, limit=limit, offset=(page - 1) * limit
    )
    return [_open_answer(work, each) for each in logged], total


async def get_delivery(work: Work, owner: User, endpoint_id: UUID, delivery_id: UUID) -> LoggedDelivery:
    found = require(
        await delivery_log_store.find_delivery(work.db, EndpointRef(endpoint_id, owner.id), delivery_id),
        errors.DeliveryNotFound,
    )
    logged, kept = found
    return replace(_open_answer(work, logged), body=open_body(work.runtime, logged.attempt.event_id, kept))


def _open_answer(work: Work, logged: LoggedDelivery) -> LoggedDelivery:
    attempt = logged.attempt
    return replace(logged, attempt=replace(attempt, answer=open_answer(work.runtime, attempt.id, attempt.answer)))


async def list_feed(
    work: Work, owner: User, *, after: UUID | None, types: tuple[str, ...], limit: int
) -> tuple[list[PastEvent], bool]:
    """Read an owner's events after a given one, oldest first, and whether there are more."""
    chosen = rules.check_events(types, PUBLISHED_TYPES, field="type")
    found, is_cut = await store.list_feed(work.db, owner.id, after=after, types=chosen, limit=limit + 1)
    if found is None and is_cut:
        raise errors.EventExpired(work.runtime.settings.keep_events_days)
    if found is None:
        raise Invalid(details={"after": "must be the id of one of your events"})
    return [complete(work.runtime, each) for each in found[:limit]], len(found) > limit


async def _send_again(work: Work, endpoint: Endpoint, events: Sequence[PastEvent]) -> None:
    if endpoint.state is not State.ACTIVE:
        raise errors.WebhookNotActive
    reaction = work.runtime.wiring.reaction(DELIVER)
    if reaction is None:
        raise LookupError(f"no reaction is named {DELIVER}")
    for event in events:
        await keep_message(work, event)
    # Replays have separate lanes, so that they keep their order and do not wait behind failing deliveries.
    wanted = [
        NewEffect(
            event.id,
            reaction,
            str(endpoint.id),
            lane=replay_lane(f"webhooks:{event.subject}@{endpoint.id}"),
            yields=True,
        )
        for event in events
    ]
    await insert_effects(work.db, wanted, now=work.now)


async def _disable(work: Work, ref: EndpointRef, *, reason: str) -> None:
    endpoint = await get_endpoint(work, ref, lock=True)
    if endpoint.state is State.DISABLED:
        return
    await _switch(work, endpoint, State.DISABLED, reason=reason)
    await work.record(
        WebhookDisabled(endpoint_id=endpoint.id, owner_id=endpoint.owner_id, url=endpoint.url, reason=reason)
    )


async def _switch(work: Work, endpoint: Endpoint, state: State, *, reason: str | None = None) -> Endpoint:
    if endpoint.state is state:
        return endpoint
    return await _keep(work, replace(endpoint, state=state, state_reason=reason, state_since=work.now))


async def _keep(work: Work, endpoint: Endpoint) -> Endpoint:
    kept = replace(endpoint, updated_at=work.now)
    await store.update_endpoint(work.db, kept)
    return kept
