"""A webhook of the demo's host that is paused, with a log of some weeks: the demo sends nothing to the outside."""

from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from openslot import __version__
from openslot.demo.bulk import copy_rows, to_row
from openslot.demo.history import at
from openslot.domains.accounts.models import User
from openslot.domains.webhooks import rules
from openslot.domains.webhooks.models import Attempt, Endpoint, EndpointRef, EndpointWanted, PastEvent
from openslot.domains.webhooks.operations import add_endpoint, list_endpoints, pause_endpoint, seal_answer, seal_body
from openslot.domains.webhooks.schemas import complete, write_body
from openslot.domains.webhooks.store import ATTEMPTS, DELIVER, list_events_in
from openslot.platform.core.events import EffectState
from openslot.platform.core.ids import new_id
from openslot.platform.core.moments import Span
from openslot.platform.core.outbound.targets import SLOW_TO_ANSWER
from openslot.platform.core.work import Work

URL = "https://crm.harbor.example/hooks/openslot"
DAYS = 28
AGAIN_AFTER = (timedelta(), *rules.DELAYS)
FAILED = (500, 503, 502, None)
NO_ANSWER = SLOW_TO_ANSWER.fill(host="crm.harbor.example")


async def make_deliveries(work: Work, host: User) -> None:
    """Make the endpoint and what was sent to it before it was paused, if the host has none."""
    if await list_endpoints(work, host):
        return
    began_at, paused_at = work.now - timedelta(days=DAYS), work.now - timedelta(hours=2)
    endpoint, secret = await add_endpoint(
        at(work, began_at), host, EndpointWanted(url=URL, description="Customer records")
    )
    span = Span(began_at, paused_at - timedelta(hours=6))
    events = await list_events_in(work.db, endpoint, span, but=(), limit=rules.MAX_REPLAYED)
    await _Deliveries(work, endpoint, secret).write(events)
    await pause_endpoint(at(work, paused_at), EndpointRef(endpoint.id, host.id))


class _Deliveries:
    def __init__(self, work: Work, endpoint: Endpoint, secret: str) -> None:
        self._work = work
        self._endpoint = endpoint
        self._secret = secret
        self._chance = Random(2027)  # noqa: S311 - the same demo for everyone
        self._attempts: list[Attempt] = []

    async def write(self, events: list[PastEvent]) -> None:
        bodies, effects = [], []
        for event in events:
            body = write_body(complete(self._work.runtime, event))
            sealed = seal_body(self._work.runtime, event.id, body)
            bodies.append({"event_id": event.id, "sealed": sealed, "kept_since": event.at})
            effects.append(self._deliver(event, body))
        await copy_rows(self._work.db, "webhook_messages", bodies)
        await copy_rows(self._work.db, "effects", effects)
        await copy_rows(self._work.db, "webhook_deliveries", [to_row(ATTEMPTS, each) for each in self._attempts])

    def _deliver(self, event: PastEvent, body: bytes) -> dict[str, Any]:
        """Write the tries of one event, of which the last one has arrived, and return their effect."""
        effect_id, tried_at = new_id(), event.at + timedelta(seconds=1)
        tries = self._chance.choices((1, 2, 3, 4), (88, 6, 4, 2))[0]
        for number in range(1, tries + 1):
            tried_at += AGAIN_AFTER[number - 1]
            status = 200 if number == tries else self._chance.choice(FAILED)
            self._attempts.append(self._try(event, body, tried_at, status, effect_id=effect_id, attempt=number))
        return {
            "id": effect_id,
            "event_id": event.id,
            "reaction": DELIVER,
            "target": str(self._endpoint.id),
            "state": EffectState.DONE,
            "attempts": tries,
            "next_try_at": tried_at,
            "created_at": event.at,
            "finished_at": tried_at,
        }

    def _try(
        self, event: PastEvent, body: bytes, tried_at: datetime, status: int | None, *, effect_id: UUID, attempt: int
    ) -> Attempt:
        attempt_id, answer = new_id(), b'{"ok":true}' if status == 200 else b"Service unavailable"
        failure = NO_ANSWER if status is None else rules.describe_failure(status)
        runtime = self._work.runtime
        return Attempt(
            id=attempt_id,
            endpoint_id=self._endpoint.id,
            event_id=event.id,
            effect_id=effect_id,
            attempt=attempt,
            at=tried_at,
            url=self._endpoint.url,
            request_headers={
                "Content-Type": "application/json",
                "User-Agent": f"Openslot-Webhooks/{__version__}",
                **rules.signed_headers(event.id, body, secrets=[self._secret], at=tried_at),
            },
            status=status,
            answer=seal_answer(runtime, attempt_id, answer if status else None),
            duration_ms=self._chance.randint(38, 420) if status else 15_000,
            error=None if status == 200 else str(failure),
        )
