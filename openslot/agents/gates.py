"""The gates in front of a tool, in their order: scope, level, confirmation, arguments."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from openslot.agents.errors import AutonomyTooLow, ConfirmationRequired, InsufficientScope
from openslot.agents.models import Caller, Level, Tier
from openslot.agents.registry import Tool
from openslot.core.errors import Invalid
from openslot.core.text import read_checked
from openslot.http.bodies import MAX_FAULTS, find_faults
from openslot.http.values import find_unfit

SEND_EMAIL = "send_email"


class ApprovalFields(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a call of tier T3 says about an approval."""

    approval_id: UUID | None = None
    decision: Literal["approve", "reject"] | None = None


GATE_FIELDS = {
    Tier.T1: frozenset[str](),
    Tier.T2: frozenset({"confirm"}),
    Tier.T3: frozenset({"confirm", *ApprovalFields.__struct_encode_fields__}),
}


def check_scope(tool: Tool, caller: Caller) -> None:
    """Refuse a tool that is outside the key's scopes."""
    if tool.scope not in caller.scopes:
        raise InsufficientScope(
            f"{tool.name} needs the scope {tool.scope}, which this key does not have",
            data={"requiredScope": tool.scope},
        )


def check_level(tool: Tool, caller: Caller) -> None:
    """Refuse what an agent at level L0 may not do: everything that writes, except email, which has its own rules."""
    if caller.agent.autonomy_level >= Level.L1 or tool.tier is Tier.T1 or tool.name == SEND_EMAIL:
        return
    raise AutonomyTooLow(
        f"{caller.agent.slug} is at level L0 and may only read. An operator can raise it to L1",
        data={"autonomyLevel": "L0", "requiredLevel": "L1"},
    )


def check_confirm(tool: Tool, given: Mapping[str, object]) -> None:
    """Refuse a tool that writes unless `confirm` is the JSON value true, before the other arguments are read."""
    if tool.tier is not Tier.T1 and given.get("confirm") is not True:
        raise ConfirmationRequired(
            f"{tool.name} changes something: call it with confirm set to true", data={"argument": "confirm"}
        )


def read_arguments(tool: Tool, given: Mapping[str, object]) -> Any:
    """Read a tool's own arguments, or refuse them with every fault; fields that the tool does not have are faults."""
    own = {name: value for name, value in given.items() if name not in GATE_FIELDS[tool.tier]}
    return _read(own, tool.arguments)


def read_approval(given: Mapping[str, object]) -> ApprovalFields:
    """Read what a call says about an approval."""
    fields = ApprovalFields.__struct_encode_fields__
    found: ApprovalFields = _read({name: given[name] for name in fields if name in given}, ApprovalFields)
    if found.decision is not None and found.approval_id is None:
        raise Invalid("The arguments are invalid", details={"approvalId": "is required with a decision"})
    return found


def _read(given: Mapping[str, object], kind: type[Struct]) -> Any:
    try:
        read = msgspec.convert(given, kind, dec_hook=read_checked)
        if next(find_unfit(read), None) is None:
            return read
    except msgspec.ValidationError:
        pass
    raise Invalid("The arguments are invalid", details=dict(islice(find_faults(given, kind), MAX_FAULTS)))
