"""Safe retries of tools: a call with the key of an earlier one gets its answer again, and nothing is done twice."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from openslot.domains.access import idempotency
from openslot.platform.core.text import LINE
from openslot.platform.core.work import Work

T = TypeVar("T")

IdempotencyKey = Annotated[
    Annotated[str, Meta(pattern=LINE, min_length=1, max_length=255)] | None,
    Meta(description="A random text for this call; send the same one if you try again, so that nothing is doubled"),
]


async def run_once(
    work: Work,
    request: idempotency.RetriedRequest | None,
    kind: type[T],
    act: Callable[[], Awaitable[T]],
    *,
    hide: Callable[[T], T] = lambda answer: answer,
) -> T:
    """Act and keep the answer with it, or return what the same request was answered before.

    `hide` takes what is secret out of it for whoever may have guessed the key.
    """
    if request is None:
        return await act()
    kept = await idempotency.find_response(work, request)
    if kept is not None:
        known = msgspec.json.decode(kept.body, type=kind)
        return hide(known) if idempotency.may_be_another(request, kept) else known
    answer = await act()
    stored = idempotency.StoredResponse(status=200, headers={}, body=msgspec.json.encode(answer))
    await idempotency.store_response(work, request, stored)
    return answer
