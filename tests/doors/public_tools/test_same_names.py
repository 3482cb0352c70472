"""What means the same has the same name at the server for invitees' assistants and at the one for hosts' own."""

from typing import Any

import pytest

from openslot.doors.assistants.calls.operations import TOOLS as OF_HOSTS
from openslot.doors.mcp.tools import schema_of
from openslot.doors.public_tools.server import TOOLS as OF_INVITEES

# What invitees are told, what hosts are told of the same thing, and what only invitees are told.
SAME: dict[tuple[str, str], set[str]] = {
    ("FreeTimes", "OpenTimes"): {"durationMinutes", "continuesOn"},
    ("QuotedBooking", "HostBooking"): {"host", "canChange"},
    ("BookedEventType", "EmbeddedHostEventType"): set(),
    ("QuotedEventType", "HostEventType"): {
        *("location", "locations", "seats", "questions", "requiresConfirmation", "requiresEmailVerification", "price"),
        "canBeBooked",
    },
    ("QuotedPlace", "QuotedLocation"): {"toldWhenBooked", "asks", "id"},
    ("Slot", "Slot"): set(),
    ("Quote", "Quote"): set(),
}
# No host's assistant is told anything like it.
OF_INVITEES_ALONE = {"QuotedHost", "QuotedCondition", "QuotedQuestion", "HostOffers", "HeldTime", "Money", "Success"}
# The answer of POST /api/bookings, whose names are fixed.
FIXED = {"BookedTime", "CreatedDate", "CreatedSeries"}


def shapes_of(tools: Any) -> dict[str, dict[str, Any]]:
    """Read the objects of all output schemas by their titles, with their properties."""
    found: dict[str, dict[str, Any]] = {}
    for tool in tools:
        schema = schema_of(tool.result)
        for name, each in {tool.result.__name__: schema, **schema.get("$defs", {})}.items():
            if "properties" in each:
                found[name] = each["properties"]
    return found


@pytest.mark.parametrize(("told", "known"), SAME)
def test_what_means_the_same_has_the_same_name(told: str, known: str) -> None:
    invitees, hosts = shapes_of(OF_INVITEES)[told], shapes_of(OF_HOSTS)[known]

    assert invitees.keys() - hosts.keys() == SAME[told, known]
    for name in invitees.keys() & hosts.keys():
        assert is_list(invitees[name]) == is_list(hosts[name]), name


def is_list(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "array"


def test_every_object_that_invitees_are_told_is_compared_or_is_theirs_alone() -> None:
    compared = {told for told, _ in SAME}

    assert shapes_of(OF_INVITEES).keys() == compared | OF_INVITEES_ALONE | FIXED
