"""What webhooks do because something happened: one delivery per endpoint, signed, retried, logged, and cleaned up."""

import time
from datetime import timedelta
from uuid import UUID

from openslot import __version__
from openslot.domains.webhooks import operations, store
from openslot.domains.webhooks.events import WebhookTested
from openslot.domains.webhooks.models import Attempt, EndpointRef, OutgoingMessage, State
from openslot.domains.webhooks.rules import (
    ANSWER_KEPT,
    ANSWER_WITHIN,
    CONNECT_WITHIN,
    DELAYS,
    GONE,
    HOLDS_BACK,
    LOG_KEPT_FOR,
    describe_failure,
    is_taken,
    read_retry_after,
    signed_headers,
)
from openslot.domains.webhooks.schemas import PUBLISHED, write_test_event
from openslot.domains.webhooks.store import DELIVER
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.events import Effect
from openslot.platform.core.ids import new_id
from openslot.platform.core.outbound import OutboundFailed, OutboundRefused, OutboundResponse
from openslot.platform.core.work import (
    Done,
    Expanded,
    GiveUp,
    Outcome,
    Periodic,
    Reaction,
    Skipped,
    Target,
    TryLater,
    Work,
    to_target,
)
from openslot.platform.i18n import CodedReason, keep, recall
from openslot.platform.jobs.batches import delete_old, repeat


async def fan_out(work: Work, effect: Effect) -> Outcome:
    """Make the body's bytes once, and one delivery for each endpoint that subscribes to the event."""
    event, listeners = await store.get_listeners(work.db, effect.event_id)
    if listeners:
        await operations.keep_message(work, event)
    return Expanded(
        tuple(Target(reaction=DELIVER, target=str(each), lane=f"{effect.lane}@{each}") for each in listeners)
    )


async def send_test(work: Work, effect: Effect) -> Outcome:
    """Make a test's body, and one delivery to the endpoint that is tested."""
    endpoint_id = effect.event(WebhookTested).endpoint_id
    event = write_test_event(effect.event_id, effect.event_type, effect.event_at, endpoint_id=endpoint_id)
    await operations.keep_message(work, event)
    return Expanded((Target(reaction=DELIVER, target=str(endpoint_id)),))


DELETED = CodedReason("webhooks.deleted", "the endpoint is deleted")
NOT_ACTIVE = {
    State.PAUSED: CodedReason("webhooks.paused", "the endpoint is paused"),
    State.DISABLED: CodedReason("webhooks.disabled", "the endpoint is switched off", said="the endpoint is disabled"),
}
RESENT = CodedReason("webhooks.resent", "it was resent and delivered", said="a replay has arrived already")
BODY_GONE = CodedReason("webhooks.body_gone", "its body is no longer kept")


async def deliver(work: Work, effect: Effect) -> Outcome:
    """Deliver an event to one endpoint."""
    ref = EndpointRef(UUID(effect.target), effect.tenant_id)
    message = await store.find_message(work.db, ref, event_id=effect.event_id, effect_id=effect.id)
    if message is None:
        return Skipped(DELETED)
    if message.endpoint.state is not State.ACTIVE and effect.event_type != WebhookTested.type:
        return Skipped(NOT_ACTIVE[message.endpoint.state])
    if message.is_delivered:
        return Skipped(RESENT)
    attempt, wished = await _send(work, effect, message)
    if attempt.error is None:
        return Done(changes=operations.log_success(work, attempt))
    async with work.runtime.transaction(SYSTEM) as failed:
        await operations.log_failure(failed, attempt)
    if attempt.status == GONE:
        raise GiveUp(recall(attempt.error))
    raise TryLater(recall(attempt.error), after=wished)


async def _send(work: Work, effect: Effect, message: OutgoingMessage) -> tuple[Attempt, timedelta | None]:
    body = operations.open_body(work.runtime, effect.event_id, message.sealed_body)
    if body is None:
        raise GiveUp(BODY_GONE)
    secrets = [work.runtime.secrets.open(sealed) for sealed in message.valid_secrets(now=work.now)]
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"Openslot-Webhooks/{__version__}",
        **signed_headers(effect.event_id, body, secrets=secrets, at=work.now),
    }
    answer: OutboundResponse | None = None
    error: str | None
    started = time.monotonic()
    try:
        answer = await work.runtime.outbound.on_behalf_of(effect.tenant_id).send(
            "POST",
            message.endpoint.url,
            headers=headers,
            body=body,
            connect_within=CONNECT_WITHIN,
            within=ANSWER_WITHIN,
            at_most=ANSWER_KEPT,
        )
        error = None if is_taken(answer.status) else describe_failure(answer.status)
    except (OutboundFailed, OutboundRefused) as fault:
        error = keep(fault.sentence)
    attempt = Attempt(
        id=new_id(),
        endpoint_id=message.endpoint.id,
        event_id=effect.event_id,
        effect_id=effect.id,
        attempt=effect.attempts,
        at=work.now,
        url=message.endpoint.url,
        request_headers=headers,
        status=answer.status if answer else None,
        answer=answer.body if answer else None,
        duration_ms=round((time.monotonic() - started) * 1000),
        error=error,
    )
    return attempt, read_retry_after(answer.headers.get("retry-after"), now=work.now) if answer else None


WEBHOOK_REACTIONS = (
    Reaction(
        name="webhooks.dispatch",
        on=tuple(one.event for one in PUBLISHED),
        run=fan_out,
        lane="webhooks",
        wanted_if=store.HAS_LISTENERS,
    ),
    Reaction(name="webhooks.send_test", on=(WebhookTested,), run=send_test),
    Reaction(name=DELIVER, run=deliver, delays=DELAYS, holds_back=HOLDS_BACK, destination=to_target),
)


async def tidy_webhooks(work: Work) -> str:
    """Remove deliveries and bodies after 30 days, and replaced secrets after 24 hours."""
    before = work.now - LOG_KEPT_FOR
    tries = await delete_old(work.db, "webhook_deliveries", "at", before=before)
    bodies = await repeat(lambda limit: store.delete_messages(work.db, before, limit=limit))
    await store.forget_secrets(work.db, now=work.now)
    return f"{tries} tries, {bodies} bodies removed"


WEBHOOK_JOBS = (Periodic(name="webhooks.tidy", expression="4-59/5 * * * *", run=tidy_webhooks, transaction="none"),)
