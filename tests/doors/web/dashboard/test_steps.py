"""Every step that a timeline can show has a name, and a refund's policy is said in words."""

import pytest

from openslot.domains.payments.reactions import BY_POLICY
from openslot.domains.timeline.models import EffectKind
from openslot.domains.timeline.store import find_kind
from openslot.doors.web.dashboard.rows import NAMES, PLANNING
from openslot.doors.web.shared.reasons import find_reason
from openslot.wiring import WIRING


def test_every_step_of_an_event_has_a_name() -> None:
    found = {each.name: find_kind(each.name) for each in WIRING.reactions if each.on}
    # The emails of agents belong to no host.
    assert {name for name, (kind, _) in found.items() if kind is EffectKind.OTHER} == {"agents.send_email"}
    assert [kind for kind, plans_others in found.values() if kind not in (PLANNING if plans_others else NAMES)] == []


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("none", "No refund if you cancel"),
        ("until:24", "Full refund until 24 hours before the start"),
        ("until:48", "Full refund until 2 days before the start"),
    ],
)
def test_a_refund_policy_is_said_in_words(policy: str, words: str) -> None:
    assert str(find_reason(BY_POLICY.fill(policy=policy).kept)) == f"the refund policy is: {words}"
