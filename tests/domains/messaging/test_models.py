"""The order of a message's states, and what a call's progress means."""

from itertools import pairwise, permutations, product

import pytest

from openslot.domains.calls.models import CallStatus
from openslot.domains.messaging.models import CallProgress, DeliveryStatus, MediaLimits, MessageCredentials, later

ON_THE_WAY = ("queued", "sending", "sent", "delivered", "read")
FAILURES = ("undelivered", "failed", "canceled")


@pytest.mark.parametrize(("lower", "higher"), tuple(pairwise(ON_THE_WAY)))
def test_later_status_on_the_way_wins_in_either_order(lower: str, higher: str) -> None:
    for order in permutations((DeliveryStatus(lower), DeliveryStatus(higher))):
        assert later(*order) is DeliveryStatus(higher)


@pytest.mark.parametrize(("failure", "other"), tuple(product(FAILURES, ON_THE_WAY)))
def test_failure_stays_whatever_arrives_after_it(failure: str, other: str) -> None:
    assert later(DeliveryStatus(failure), DeliveryStatus(other)) is DeliveryStatus(failure)
    assert later(DeliveryStatus(other), DeliveryStatus(failure)) is DeliveryStatus(failure)


def test_any_order_of_arrival_ends_the_same() -> None:
    for one, two, three in product(DeliveryStatus, repeat=3):
        assert later(later(one, two), three) is later(one, later(two, three)) is later(later(three, one), two)


def test_busy_is_not_answered_and_canceled_is_failed() -> None:
    outcomes = {progress.value: progress.outcome for progress in CallProgress}
    assert outcomes == {
        "queued": None,
        "ringing": None,
        "in_progress": None,
        "completed": CallStatus.COMPLETED,
        "busy": CallStatus.NO_ANSWER,
        "no_answer": CallStatus.NO_ANSWER,
        "failed": CallStatus.FAILED,
        "canceled": CallStatus.FAILED,
    }


def test_credentials_never_show_their_tokens() -> None:
    credentials = MessageCredentials(account="AC1", token="hidden-one", second_token="hidden-two")
    assert "hidden" not in f"{credentials!r} {credentials}"
    assert credentials.tokens == ("hidden-one", "hidden-two")


def test_kind_of_media_allows_all_of_its_types() -> None:
    limits = MediaLimits(max_bytes=1, content_types=("image/*", "application/pdf"))
    kinds = ("image/png", "application/pdf", "application/zip", "imagex/png", "image", "")
    assert [kind for kind in kinds if limits.allows(kind)] == ["image/png", "application/pdf"]
