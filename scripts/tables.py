"""Write the tables of the documentation, and the settings that the chart knows, from the code: `make docs`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

from openslot.cli.commands import app
from openslot.domains.allowances.models import Cost
from openslot.doors.web.admin.system import list_settings
from openslot.platform.core.config import SECRET, Settings, environment_name, file_variable
from proofs.guards import MUTANTS
from scripts.structure import draw_drawers

DOCS = Path(__file__).parents[1] / "docs"
# The settings by which the chart finds misspelled ones.
CHART_NAMES = Path(__file__).parents[1] / "deploy" / "helm" / "openslot" / "names.yaml"

# Where a setting or a group of commands is explained.
SETTINGS_IN_DETAIL = {
    "stripe_key": "plans.md",
    "plan_grace_days": "plans.md#when-a-payment-fails",
    "direct_database_url": "database.md#through-a-pooler",
    "read_database_url": "database.md#read-from-a-standby",
    "database_pooler": "database.md#through-a-pooler",
    "database_cache_mb": "running.md#memory",
    "database_wait_seconds": "database.md#when-the-database-is-slow-stuck-or-gone",
    "database_statement_seconds": "database.md#when-the-database-is-slow-stuck-or-gone",
    "secret_key": "secrets.md#the-secret-key",
    "trusted_proxies": "proxy.md#behind-a-proxy",
    "hsts_subdomains": "proxy.md#behind-a-proxy",
    "smtp_url": "mail.md#send-over-smtp",
    "postal_address": "agent-email.md#marketing",
    "limit_mail_recipient": "mail.md#limits",
    "limit_mail_host": "mail.md#limits",
    **{f"allowance_{cost}": "allowances.md" for cost in Cost},
    "limit_messages": "messages.md#limits",
    "limit_messages_number": "messages.md#limits",
    "limit_messages_recipient": "messages.md#limits",
    "keep_mail_days": "retention.md",
    "confirm_within_hours": "event-types.md#confirmation",
    "sign_up": "sign-in.md#sign-up",
    "hold_share": "booking-page.md#held-times",
    "limit_failed_auth": "sign-in.md#limits",
    "limit_public": "proxy.md#limits-of-a-connection",
    "api_key": "assistants.md#without-a-public-address",
    "agent_budget": "agent-budgets.md#budgets",
    "agent_approval_by_person": "agent-budgets.md#approvals",
    "chat_webhook": "agent-budgets.md#team-chat",
    "oidc_issuer": "oidc.md",
    "oidc_skips_two_factor": "two-factor.md",
    "limit_connections": "proxy.md#limits-of-a-connection",
    "head_timeout": "proxy.md#limits-of-a-connection",
    "body_timeout": "proxy.md#limits-of-a-connection",
    "metrics_token": "monitoring.md#metrics",
    "keep_events_days": "retention.md",
    "keep_changes_days": "organizations.md#the-change-log",
}
GROUPS_IN_DETAIL = {
    "openslot user": "sign-in.md",
    "openslot organization": "organizations.md",
    "openslot scim": "scim.md",
    "openslot assistant": "assistants.md",
    "openslot effect": "monitoring.md#retry-what-has-failed",
    "openslot backup": "backups-and-upgrades.md#backup-and-restore",
    "openslot secret": "secrets.md#the-secret-key",
    "openslot webhook": "webhooks.md",
    "openslot calendar": "calendars.md",
    "openslot mail": "mail.md",
    "openslot flag": "settings.md#feature-flags",
    "openslot agent": "agents.md",
    "openslot audit": "agents.md#the-audit-trail",
}


def write_settings() -> str:
    lines = ["| Variable | Default | Meaning |", "|---|---|---|"]
    for field, row in zip(Settings.__struct_fields__, list_settings(Settings()), strict=True):
        default = "none" if row.value is None else f"`{row.value}`"
        lines.append(f"| `{row.name}` | {default} | {row.meaning}{_link(SETTINGS_IN_DETAIL.get(field))} |")
    return "\n".join(lines)


def write_secrets() -> str:
    fields = [field for field in Settings.__struct_fields__ if field in SECRET]
    rows = [f"| `{environment_name(field)}` | `{file_variable(field)}` |" for field in fields]
    return "\n".join(["| Instead of | Set |", "|---|---|", *rows])


def write_chart_names() -> str:
    secret = sorted(environment_name(field) for field in SECRET)
    plain = {environment_name(field) for field in Settings.__struct_fields__} - {*secret}
    lines = ["# Written by `make docs`: the names that values may have.", "settings:"]
    lines += [f"  - {name}" for name in sorted(plain | set(map(file_variable, SECRET)))]
    return "\n".join([*lines, "secrets:", *(f"  - {name}" for name in secret), ""])


def write_commands() -> str:
    return "\n\n".join(
        _write_group(path, command) for path, command in _walk(get_command(app), "openslot") if _is_group(command)
    )


def _walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Find a command and all below it, with the words that call them."""
    yield path, command
    if _is_group(command):
        for name, found in _list_below(command):
            yield from _walk(found, f"{path} {name}")


def _is_group(command: Any) -> bool:
    return isinstance(command, TyperGroup)


def _list_below(group: Any) -> list[tuple[str, Any]]:
    with group.make_context("openslot", [], resilient_parsing=True) as context:
        return [(name, group.get_command(context, name)) for name in group.list_commands(context)]


def _write_group(path: str, group: Any) -> str:
    rows = [
        f"| `{_write_usage(f'{path} {name}', command)}` | {' '.join(command.help.split()).removesuffix('.')} |"
        for name, command in _list_below(group)
        if not _is_group(command)
    ]
    head = f"## `{path}`\n\n{group.help.removesuffix('.')}{_link(GROUPS_IN_DETAIL.get(path))}\n"
    return "\n".join([head, "| Command | What it does |", "|---|---|", *rows])


def _write_usage(path: str, command: Any) -> str:
    """Write `openslot key rotate KEY_ID [--hours]`: what is in brackets may be left out."""
    arguments = [part for part in command.params if part.param_type_name == "argument"]
    options = [part for part in command.params if part.param_type_name == "option" and not part.hidden]
    words = [path]
    words += [_optional(part, part.name.upper() + (" …" if part.nargs == -1 else "")) for part in arguments]
    for part in sorted(options, key=lambda part: not part.required):
        value = "" if part.is_flag or not part.required else f" {part.name.upper()}"
        words.append(_optional(part, " / ".join([*part.opts, *part.secondary_opts]) + value))
    return " ".join(words)


def _optional(part: Any, words: str) -> str:
    return words if part.required else f"[{words}]"


def _link(target: str | None) -> str:
    return f" ([details]({target}))" if target else ""


def write_mutants() -> str:
    lines = ["| Mutant | Where, and what is changed | Test that fails |", "|---|---|---|"]
    for each in MUTANTS:
        places = ", ".join(f"`{edit.path}`: `{_first_line(edit.guard)}`" for edit in each.edits)
        lines.append(f"| {each.name} | {places} | `{each.test}` |")
    return "\n".join(lines)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].replace("|", "\\|")


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "settings": ("settings.md", write_settings),
    "secrets": ("secrets.md", write_secrets),
    "commands": ("commands.md", write_commands),
    "mutants": ("check-it-yourself.md", write_mutants),
    "drawers": ("architecture.md", draw_drawers),
}


def renew(page: str, table: str, text: str) -> str:
    """Return a page with a table in place of what stands between its marks."""
    begin, end = f"<!-- {table}: begin -->", f"<!-- {table}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"the page must have {begin} and {end}, once each")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"


def main() -> None:
    for table, (name, write) in TABLES.items():
        path = DOCS / name
        path.write_text(renew(path.read_text("utf-8"), table, write()), "utf-8")
    CHART_NAMES.write_text(write_chart_names(), "utf-8")


if __name__ == "__main__":
    main()
