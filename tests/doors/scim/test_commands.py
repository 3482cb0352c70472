"""Organizations, domains and SCIM from the terminal."""

import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.errors import Invalid, Refusal
from tests.support.command_line import Cli

pytestmark = pytest.mark.rest("runs commands, each with a connection of its own; their verbs are in make test")


def test_an_organization_is_founded_furnished_and_listed(cli: Cli, user: User) -> None:
    made = cli("organization", "add", "Harbor Studio", "--slug", "harbor", "--plan", "business", "--json")
    assert (made["slug"], made["plan"]) == ("harbor", "BUSINESS")
    assert (made["keepBookings"], made["departureShare"]) == (False, 20)
    assert cli("organization", "plan", "harbor", "pro", "--json")["plan"] == "PRO"
    changed = cli("organization", "settings", "harbor", "--keep-bookings", "--departure-share", "50", "--json")
    assert (changed["keepBookings"], changed["departureShare"]) == (True, 50)
    assert cli("organization", "settings", "harbor", "--json") == changed
    (listed,) = cli("organization", "list", "--json")["organizations"]
    assert (listed["slug"], listed["members"], listed["domains"]) == ("harbor", 0, [])
    assert "harbor" in cli("organization", "list")


def test_members_come_and_go(cli: Cli, user: User) -> None:
    cli("organization", "add", "Harbor", "--slug", "harbor")
    added = cli("organization", "member", "add", "harbor", user.email, "--role", "owner", "--json")
    assert (added["email"], added["role"], added["managed"]) == (user.email, "owner", True)
    (listed,) = cli("organization", "member", "list", "harbor", "--json")["members"]
    assert listed == added
    assert cli("organization", "member", "role", "harbor", user.email, "member", "--json")["role"] == "member"
    assert "is owner of harbor" in cli("organization", "member", "role", "harbor", user.email, "OWNER")
    with pytest.raises(Invalid, match="has a password"):
        cli("organization", "member", "invite", "harbor", user.email)
    assert cli("organization", "member", "remove", "harbor", user.email, "--json") == {"removed": user.email}
    assert cli("organization", "member", "list", "harbor") == "No members.\n"
    with pytest.raises(Refusal, match="User not found"):
        cli("organization", "member", "invite", "harbor", user.email)


def test_domains_are_claimed_listed_and_given_up(cli: Cli) -> None:
    cli("organization", "add", "Harbor", "--slug", "harbor")
    claimed = cli("organization", "domain", "add", "harbor", "Lindqvist.example.", "--json")
    assert (claimed["domain"], claimed["verifiedAt"]) == ("lindqvist.example", None)
    assert cli("organization", "domain", "add", "harbor", "lindqvist.example", "--json") == claimed
    assert claimed["recordValue"] in cli("organization", "domain", "add", "harbor", "lindqvist.example")
    assert cli("organization", "domain", "list", "harbor", "--json") == {"domains": [claimed]}
    removed = cli("organization", "domain", "remove", "harbor", "lindqvist.example", "--json")
    assert removed == {"removed": "lindqvist.example"}
    assert cli("organization", "domain", "list", "harbor") == "No domains yet.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("organization", "add", " ", "--slug", "x"),
        ("organization", "add", "X", "--slug", "not a slug"),
        ("organization", "domain", "add", "harbor", "nodots"),
        ("organization", "domain", "add", "harbor", "a b.example"),
        ("scim", "approve", "harbor"),
        ("scim", "reject", "harbor", "x@y.example", "--all"),
    ],
)
def test_what_is_wrong_is_refused(cli: Cli, arguments: tuple[str, ...]) -> None:
    cli("organization", "add", "Harbor", "--slug", "harbor")
    with pytest.raises(Invalid):
        cli(*arguments)


def test_a_preview_the_log_and_what_waits_are_shown(cli: Cli, user: User) -> None:
    cli("organization", "add", "Harbor", "--slug", "harbor", "--plan", "business")
    cli("organization", "member", "add", "harbor", user.email)
    (shown,) = cli("scim", "preview", "harbor", "--json")["members"]
    assert (shown["email"], shown["upcomingBookings"], shown["cancelled"], shown["held"]) == (
        user.email,
        0,
        True,
        False,
    )
    assert cli("scim", "preview", "harbor", "nobody@x.example") == "No active members found.\n"
    assert (shown["requests"], shown["requestsHandedOver"]) == (0, 0)
    assert "be cancelled" in cli("scim", "preview", "harbor")
    assert cli("scim", "held", "harbor", "--json") == {"held": []}
    assert cli("scim", "held", "harbor") == "No departure is waiting.\n"
    assert cli("scim", "approve", "harbor", "--all", "--json") == {"approved": []}
    assert cli("scim", "log", "harbor", "--json") == {"requests": []}
    with pytest.raises(Refusal, match="No departure"):
        cli("scim", "reject", "harbor", user.email)
