"""The answers that belong to idempotency keys, kept as Stripe keeps them."""

from typing import Any

from msgspec import Struct

from tests.support.fake_server import Answer
from tests.support.fake_stripe.errors import StripeRefusal

KEPT_FOR = 24 * 3600
LONGEST_KEY = 255


class KeptRequest(Struct):
    method: str
    path: str
    parameters: dict[str, Any]
    at: int
    answer: Answer | None = None
    """None while it is being carried out."""


class KeptAnswers:
    """The keys of one account in one mode."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptRequest] = {}

    def begin(self, key: str, method: str, path: str, parameters: dict[str, Any], *, now: int) -> Answer | None:
        """Return the kept answer, or note that the request begins; refuse a key that means something else."""
        if len(key) > LONGEST_KEY:
            raise StripeRefusal(400, "Idempotency keys have at most 255 characters.", is_kept=False)
        before = self._kept.get(key)
        if before is None or before.at + KEPT_FOR <= now:
            self._kept[key] = KeptRequest(method, path, parameters, now)
            return None
        if (before.method, before.path, before.parameters) != (method, path, parameters):
            raise StripeRefusal(
                400,
                "Keys for idempotent requests can only be used with the same parameters they were first used with. "
                f"Try using a key other than '{key}' if you meant to execute a different request.",
                type_="idempotency_error",
                is_kept=False,
            )
        if before.answer is None:
            raise StripeRefusal(
                409,
                f"There is currently another in-progress request using this Idempotency Key: {key}.",
                type_="idempotency_error",
                code="idempotency_key_in_use",
                is_kept=False,
            )
        answer = before.answer
        return Answer(answer.status, answer.body, {**answer.headers, "Idempotent-Replayed": "true"})

    def end(self, key: str, answer: Answer | None) -> None:
        """Keep an answer, or forget the request: it never began."""
        if answer is None:
            del self._kept[key]
        else:
            self._kept[key].answer = answer
