"""Puts a text into everything that is stored as text, past every check of the code."""

import asyncpg

from openslot.platform.core.work import Runtime

COLUMNS = """
select c.relname as name, a.attname as column, format_type(a.atttypid, null) as type
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname <> 'migrations'
    and a.attgenerated = '' and a.atttypid = any('{text,text[],json,jsonb}'::regtype[])
order by 1, 2"""
# What the code writes and reads by itself: keys, kinds, states, ids of vendors, names of zones, hashes. Pages show for
# these nothing that a person or another program has chosen, and most of them decide what is read.
OURS = frozenset(
    (
        *("action", "actor_kind", "agent", "asks_first", "balance", "billing_period", "bucket", "call_id"),
        *("category", "cause", "channel", "color", "columns", "cost", "countries", "currency", "delimiter", "domain"),
        *("encoding", "endpoint_id", "events", "flag_key", "hash", "holder_network", "id", "input_hash"),
        *("invitation_refused", "invitee_zone", "key", "kind", "lane", "locale", "mode", "outcome", "password_hash"),
        *("period", "photo", "plan", "plan_id", "pot", "previous_email", "problems", "provider", "purpose"),
        *("reaction", "redirect_uris", "refund_policy", "requester", "resource", "role", "scope", "scopes"),
        *("session_id", "session_plan", "slug", "state", "status", "step", "subject_kind", "tier", "tool", "topic"),
        *("transport", "type", "username", "vendor", "zone"),
    )
)
# Links are looked up by these addresses, and the last one is a link that Stripe has made.
CHECKED = frozenset({"password_resets.email", "users.email", "payments.receipt_url"})
JSON_OURS = frozenset(
    (
        *("account_deletions.requested_by", "agent_calls_begun.record", "assignments.asked", "booking_history.actor"),
        *("bookings.payment", "crm_connections.options", "effects.payload", "event_types.booking_window"),
        *("event_types.price", "events.actor", "events.public", "held_departures.profile", "host_groups.filter"),
        *("member_profiles.profile", "messages.template", "schedules.holidays", "schedules.overrides"),
        *("schedules.weekly_hours", "switches.stopped_by"),
    )
)
PLACE = "jsonb_build_object('kind', 'in_person', 'value', $1::text)"
QUESTION = """jsonb_build_object('key', 'a', 'label', $1::text, 'kind', 'choice',
    'options', jsonb_build_array($1::text))"""
ENTRY = "jsonb_build_object('minutes', 60, 'subject', $1::text, 'text', $1::text)"
JSON = {
    "approvals.arguments": "arguments || jsonb_build_object('reason', $1::text)",
    "bookings.answers": "jsonb_build_object($1::text, $1::text)",
    "bookings.location": PLACE,
    "change_log.after": "json_build_object('name', $1::text, $1::text, $1::text)",
    "change_log.before": "json_build_object('name', $1::text || $1::text)",
    "contact_imports.header": "array[$1::text, $1::text]",
    "contact_import_lines.cells": "json_build_array($1::text, $1::text)::text",
    "event_types.location": PLACE,
    "event_types.locations": f"jsonb_build_array({PLACE} || jsonb_build_object('id', 'in_person'))",
    "event_types.questions": f"jsonb_build_array({QUESTION})",
    "events.fact": """case type when 'booking.rescheduled' then jsonb_set(fact, '{reason}', to_jsonb($1::text))
        else fact end""",
    "reminder_settings.entries": f"jsonb_build_array({ENTRY})",
    "team_members.attributes": "jsonb_build_object($1::text, $1::text)",
    "webhook_deliveries.request_headers": "jsonb_build_object($1::text, $1::text)",
}


async def spoil(runtime: Runtime, text: str) -> set[str]:
    """Put a text into every column that may hold it, and return which."""
    spoilt = set()
    for row in await runtime.pool.fetch(COLUMNS):
        name = f"{row['name']}.{row['column']}"
        value = _write_value(name, row)
        if value is not None and await _update(runtime, row["name"], row["column"], value, text):
            spoilt.add(name)
    await runtime.pool.execute("update change_log set action = $1 where action = 'of.a.later.release'", text)
    await runtime.pool.execute("update webhook_deliveries set answer = convert_to($1, 'UTF8')", text)
    return spoilt


def _write_value(name: str, row: asyncpg.Record) -> str | None:
    if name in JSON:
        return JSON[name]
    if row["type"].startswith("json"):
        assert name in JSON_OURS, f"{name}: say in tests/doors/web/all_routes/spoiling.py what text it has"
        return None
    if row["column"] in OURS or name in CHECKED:
        return None
    return "array[$1::text]" if row["type"] == "text[]" else "$1::text"


async def _update(runtime: Runtime, table: str, column: str, value: str, text: str) -> bool:
    """Say whether any row has taken it; what is unique stays so, and what has a check or a reference stays as it is."""
    statement = f"update {table} set {column} = "
    try:
        return await runtime.pool.execute(statement + value, text) != "UPDATE 0"
    except asyncpg.UniqueViolationError:
        return await _update(runtime, table, column, f"{value} || ctid", text) if "ctid" not in value else False
    except asyncpg.IntegrityConstraintViolationError:
        return False
