"""What the specification says, copied by hand: every tool, every agent, and what each may do.

Nothing here is computed from the product, so that a test can compare the two.
"""

from typing import NamedTuple

AGENTS = (
    "support",
    "cto",
    "data",
    "devops",
    "orchestrator",
    "seo",
    "growth",
    "outbound",
    "customer_success",
    "content",
)

LEVELS = {
    "support": "L1",
    "cto": "L1",
    "data": "L1",
    "devops": "L1",
    "orchestrator": "L1",
    "seo": "L0",
    "growth": "L0",
    "outbound": "L0",
    "customer_success": "L0",
    "content": "L0",
}

# How many tools each domain has.
DOMAINS = {
    "Analytics": 9,
    "Feature Flags": 6,
    "Infrastructure": 4,
    "Audit": 1,
    "Users": 7,
    "Bookings": 4,
    "Contacts": 3,
    "Events": 3,
    "Budget": 2,
    "Codebase": 4,
    "Email": 1,
    "Images": 1,
}

# How many tools need each scope.
SCOPES = {
    "analytics:read": 9,
    "flags:read": 3,
    "flags:write": 3,
    "infra:read": 2,
    "infra:write": 2,
    "audit:read": 1,
    "users:read": 4,
    "users:write": 3,
    "bookings:read": 2,
    "bookings:write": 2,
    "contacts:read": 2,
    "contacts:write": 1,
    "events:read": 3,
    "budget:read": 2,
    "codebase:read": 4,
    "email:write": 1,
    "images:write": 1,
}

TIERS = {"T1": 32, "T2": 9, "T3": 4}


class Row(NamedTuple):
    """A tool: where it belongs, what it needs, what it takes, and what each agent may do with it."""

    domain: str
    tool: str
    scope: str
    tier: str
    arguments: str
    """Separated by spaces; those with a question mark may be left out."""
    cells: str
    """One for each agent, in the order of `AGENTS`.

    `.` the key has no scope for it
    `r` it reads, and needs nothing more
    `L` the key has the scope, but an agent at L0 may not write
    `c` it writes, and needs confirm
    `a` it needs confirm and the Orchestrator's approval
    `o` the Orchestrator's own call, which needs confirm
    """


RANGE = "from? to?"
PAGING = "page? limit?"
DAYS = "startDate? endDate? durationMinutes?"
CONFIRM = "confirm"
APPROVAL = "confirm approvalId? decision?"

TABLE = tuple(
    Row(*row)
    for row in (
        ("Analytics", "get_kpi_dashboard", "analytics:read", "T1", "period?", ".rrrrrrrrr"),
        ("Analytics", "get_revenue", "analytics:read", "T1", f"{RANGE} granularity?", ".rrrrrrrrr"),
        ("Analytics", "get_traffic", "analytics:read", "T1", f"{RANGE} granularity? source?", ".rrrrrrrrr"),
        (
            "Analytics",
            "get_booking_metrics",
            "analytics:read",
            "T1",
            f"{RANGE} granularity? eventTypeId?",
            ".rrrrrrrrr",
        ),
        ("Analytics", "get_signup_funnel", "analytics:read", "T1", RANGE, ".rrrrrrrrr"),
        ("Analytics", "get_retention", "analytics:read", "T1", f"{RANGE} cohort?", ".rrrrrrrrr"),
        ("Analytics", "get_plan_distribution", "analytics:read", "T1", "", ".rrrrrrrrr"),
        ("Analytics", "get_top_event_types", "analytics:read", "T1", f"{RANGE} limit?", ".rrrrrrrrr"),
        ("Analytics", "get_messaging_metrics", "analytics:read", "T1", f"{RANGE} channel?", ".rrrrrrrrr"),
        ("Feature Flags", "list_flags", "flags:read", "T1", "search?", ".rrrr.r..."),
        ("Feature Flags", "get_flag", "flags:read", "T1", "key", ".rrrr.r..."),
        ("Feature Flags", "check_flag", "flags:read", "T1", "key userId", ".rrrr.r..."),
        ("Feature Flags", "toggle_flag", "flags:write", "T2", f"key enabled {CONFIRM}", ".c.cc....."),
        ("Feature Flags", "set_flag_override", "flags:write", "T2", f"key userId enabled {CONFIRM}", ".c.cc....."),
        ("Feature Flags", "remove_flag_override", "flags:write", "T2", f"key userId {CONFIRM}", ".c.cc....."),
        ("Infrastructure", "get_cron_health", "infra:read", "T1", "job?", ".rrrr....."),
        ("Infrastructure", "get_system_status", "infra:read", "T1", "", ".rrrr....."),
        ("Infrastructure", "run_system_tests", "infra:write", "T2", f"suite? {CONFIRM}", ".c.cc....."),
        (
            "Infrastructure",
            "set_messaging_kill_switch",
            "infra:write",
            "T3",
            f"enabled channel? reason {APPROVAL}",
            ".a.ao.....",
        ),
        (
            "Audit",
            "search_audit_log",
            "audit:read",
            "T1",
            f"agent? userId? tool? status? {RANGE} {PAGING}",
            "rrrrr.....",
        ),
        ("Users", "list_users", "users:read", "T1", f"search? plan? status? {PAGING}", "rrr.r.rrr."),
        ("Users", "get_user", "users:read", "T1", "userId? email?", "rrr.r.rrr."),
        ("Users", "get_user_activity", "users:read", "T1", f"userId {RANGE} {PAGING}", "rrr.r.rrr."),
        ("Users", "get_user_settings", "users:read", "T1", "userId", "rrr.r.rrr."),
        ("Users", "change_user_plan", "users:write", "T3", f"userId plan reason {APPROVAL}", "a...o....."),
        ("Users", "update_user_settings", "users:write", "T2", f"userId settings {CONFIRM}", "c...c....."),
        ("Users", "disable_user", "users:write", "T3", f"userId reason {APPROVAL}", "a...o....."),
        ("Bookings", "list_bookings", "bookings:read", "T1", f"userId? status? {RANGE} {PAGING}", "rrr.r...r."),
        ("Bookings", "get_booking", "bookings:read", "T1", "bookingId", "rrr.r...r."),
        ("Bookings", "cancel_booking", "bookings:write", "T3", f"bookingId reason? {APPROVAL}", "a...o....."),
        (
            "Bookings",
            "reschedule_booking",
            "bookings:write",
            "T2",
            f"bookingId newStartTime reason? {CONFIRM}",
            "c...c.....",
        ),
        ("Contacts", "list_contacts", "contacts:read", "T1", f"userId? search? {PAGING}", "rrr.r..rr."),
        ("Contacts", "get_contact", "contacts:read", "T1", "contactId", "rrr.r..rr."),
        ("Contacts", "update_contact_metadata", "contacts:write", "T2", f"contactId metadata {CONFIRM}", "c...c...L."),
        ("Events", "list_event_types", "events:read", "T1", f"userId? active? {PAGING}", "rrr.rr..rr"),
        ("Events", "get_event_type", "events:read", "T1", "eventTypeId", "rrr.rr..rr"),
        (
            "Events",
            "check_availability",
            "events:read",
            "T1",
            f"eventTypeId timezone {DAYS}",
            "rrr.rr..rr",
        ),
        ("Budget", "check_budget", "budget:read", "T1", "", "rrrrrrrrrr"),
        ("Budget", "check_global_budget", "budget:read", "T1", "", "rrrrrrrrrr"),
        ("Codebase", "search_files", "codebase:read", "T1", "query path? limit?", ".r.rrr...r"),
        ("Codebase", "read_file", "codebase:read", "T1", "path startLine? endLine?", ".r.rrr...r"),
        ("Codebase", "list_directory", "codebase:read", "T1", "path?", ".r.rrr...r"),
        ("Codebase", "get_history", "codebase:read", "T1", "path? limit?", ".r.rrr...r"),
        # An agent at L0 may send internal email, which is what the test sends.
        (
            "Email",
            "send_email",
            "email:write",
            "T2",
            f"category to subject text html? replyTo? {CONFIRM}",
            "cccccccccc",
        ),
        ("Images", "generate_image", "images:write", "T2", f"prompt size? {CONFIRM}", "....c.L..L"),
    )
)
