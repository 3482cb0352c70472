"""The roster: what the specification says about each agent, and which scopes there are."""

from collections.abc import Iterable

from msgspec import Struct

from openslot.doors.agents.models import EmailCategory, Level

_READ = "analytics", "flags", "infra", "audit", "users", "bookings", "contacts", "events", "budget", "codebase"
_WRITTEN = "flags", "infra", "users", "bookings", "contacts", "email", "images"
READ_SCOPES = frozenset(f"{area}:read" for area in _READ)
WRITE_SCOPES = frozenset(f"{area}:write" for area in _WRITTEN)
SCOPES = READ_SCOPES | WRITE_SCOPES
EVERYONE = frozenset({"budget:read", "email:write"})

ORCHESTRATOR = "orchestrator"


class RosterEntry(Struct, frozen=True, kw_only=True):
    """An agent as an installation begins with it."""

    name: str
    autonomy_level: Level
    email_level: Level
    """How much it may send; independent of its autonomy."""
    categories: frozenset[EmailCategory]
    """The categories that it may ever send; at level L0 only internal email of these."""
    scopes: frozenset[str]


def _entry(name: str, levels: tuple[Level, Level], categories: str, scopes: Iterable[str]) -> RosterEntry:
    autonomy, email = levels
    allowed = frozenset(map(EmailCategory, categories.split()))
    return RosterEntry(
        name=name, autonomy_level=autonomy, email_level=email, categories=allowed, scopes=EVERYONE | frozenset(scopes)
    )


L0, L1 = Level.L0, Level.L1

ROSTER = {
    "support": _entry(
        "Support",
        (L1, L1),
        "support transactional internal",
        ("users:write", "bookings:write", "contacts:write", "events:read", "audit:read"),
    ),
    "cto": _entry("CTO", (L1, L0), "transactional internal", READ_SCOPES | {"flags:write", "infra:write"}),
    "data": _entry("Data", (L1, L0), "internal", READ_SCOPES - {"codebase:read"}),
    "devops": _entry(
        "DevOps",
        (L1, L1),
        "transactional internal",
        ("infra:write", "flags:write", "codebase:read", "audit:read", "analytics:read"),
    ),
    ORCHESTRATOR: _entry("Orchestrator", (L1, L1), "support transactional internal", SCOPES),
    "seo": _entry("SEO", (L0, L0), "internal", ("analytics:read", "codebase:read", "events:read")),
    "growth": _entry(
        "Growth", (L0, L0), "marketing internal", ("analytics:read", "flags:read", "users:read", "images:write")
    ),
    "outbound": _entry("Outbound", (L0, L1), "marketing internal", ("contacts:read", "users:read", "analytics:read")),
    "customer_success": _entry(
        "Customer Success",
        (L0, L0),
        "marketing internal",
        ("users:read", "bookings:read", "contacts:write", "events:read", "analytics:read"),
    ),
    "content": _entry(
        "Content", (L0, L0), "marketing internal", ("analytics:read", "events:read", "codebase:read", "images:write")
    ),
}


def with_implied(scopes: Iterable[str]) -> frozenset[str]:
    """Add the read scope that each write scope implies, if there is one."""
    given = frozenset(scopes)
    implied = {scope.removesuffix(":write") + ":read" for scope in given if scope.endswith(":write")}
    return given | (implied & READ_SCOPES)
