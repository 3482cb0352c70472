"""Every step that a timeline can show has a name, and every reason for which one is left out has words."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from openslot.integrations.mail.rules import LIMIT_REACHED
from openslot.payments.reactions import BY_POLICY
from openslot.timeline.models import EffectKind
from openslot.timeline.store import find_kind
from openslot.web.dashboard.reasons import find_reason
from openslot.web.dashboard.rows import NAMES, PLANNING
from openslot.wiring import WIRING

PACKAGE = Path(__file__).parents[3] / "openslot"
GIVERS = {"Skipped", "leave_unsent"}
# Steps of these are shown to no host, or only if they fail.
NOT_SHOWN = {
    "agents/chat.py": "the operator's team chat",
    "agents/reactions.py": "emails of agents",
    "assistants/reactions.py": "plans, and emails about assistants",
    "exports/reactions.py": "exports of an account",
    "integrations/chat.py": "the operator's team chat",
    "integrations/mail/account_mails.py": "emails about an account",
    "integrations/mail/code_mails.py": "emails with codes",
    "integrations/mail/organization_mails.py": "emails about an organization",
    "integrations/mail/payment_mails.py": "emails of a reaction that a timeline shows as a plan",
    "integrations/mail/plan_mails.py": "emails about a plan",
    "integrations/mail/request_mails.py": "emails of a reaction that a timeline shows as a plan",
    "integrations/mail/wait_list_mails.py": "emails about entries of the wait list",
    "bookings/requests.py": "planned for a time, by no event",
    "payments/connecting.py": "the account that payments go to",
    "payments/notices.py": "the account that payments go to",
    "payments/polling.py": "the account that payments go to",
    "payments/subscription_jobs.py": "plans",
}
# Of these, who they are about is gone with the timeline.
NEVER = {"the payment is gone", "it belongs to no host", "nobody waits by this entry any more"}
# What is given is not written beside it; each has an example that is asked for.
GIVEN = {
    ("crm/reactions.py", "str(DISCONNECTED)"): None,
    ("crm/reactions.py", "str(BOOKING_GONE)"): None,
    ("crm/reactions.py", "str(MEETING_GONE)"): None,
    ("integrations/mail/operations.py", "mail"): f"{LIMIT_REACHED}Used up: emails",
    ("integrations/mail/operations.py", "reason"): None,
    ("integrations/mail/reminder_mails.py", "lost"): "the meeting has begun",
    ("messaging/reminders.py", "str(REFUSALS[reason])"): None,
    ("payments/reactions.py", "f'{BY_POLICY}{payment.refund_policy}'"): f"{BY_POLICY}until:24",
    ("webhooks/reactions.py", "f'the endpoint is {message.endpoint.state}'"): "the endpoint is paused",
}
MODULES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if str(path.relative_to(PACKAGE)) not in NOT_SHOWN and any(f"{each}(" in path.read_text() for each in GIVERS)
]


def list_given(module: ModuleType, source: str) -> Iterator[str | ast.expr]:
    """List the reasons that a module gives, and what can only be known when it runs."""
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in GIVERS:
            yield from resolve(module, call.args[-1])


def resolve(module: ModuleType, given: ast.expr) -> Iterator[str | ast.expr]:
    match given:
        case ast.IfExp(body=body, orelse=other):
            yield from resolve(module, body)
            yield from resolve(module, other)
        case ast.BoolOp(values=values):
            for each in values:
                yield from resolve(module, each)
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name() | ast.Attribute():
            found = find_constant(module, ast.unparse(given))
            yield found if isinstance(found, str) else given
        case _:
            yield given


def find_constant(module: ModuleType, path: str) -> Any:
    found: Any = module
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_reason_for_which_a_step_is_left_out_has_words(path: Path) -> None:
    name = str(path.relative_to(PACKAGE))
    module = importlib.import_module(f"openslot.{name.removesuffix('.py').replace('/', '.')}")
    for given in list_given(module, path.read_text()):
        example = given if isinstance(given, str) else GIVEN[name, ast.unparse(given)]
        assert example is None or example in NEVER or find_reason(example) is not None, example


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
    assert str(find_reason(f"{BY_POLICY}{policy}")) == f"the refund policy is: {words}"
