"""Which walk through the pages lets axe check which template: each template in one walk, and none is left out."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from unittest.mock import patch

import openslot.doors.web
from openslot.doors.web.api_docs import page as api_docs
from openslot.doors.web.shared import pages
from openslot.platform.i18n.languages import Locale

WALKS = {
    "account": (
        *(
            "account*.html",
            "consent/*",
            "api_docs.html",
            "invite.html",
            "login.html",
            "no_account.html",
            "refused.html",
        ),
        *("consent/*", "revoke.html", "setup.html"),
        *("unsubscribe.html", "dashboard/your_data/not_deletable.html", "widget/no_demo.html"),
    ),
    "admin": ("admin/*",),
    "assistants": ("dashboard/assistants/*",),
    "availability": ("confirm.html", "dashboard/availability/*", "dashboard/onboarding/*"),
    "booking page": ("booking/*",),
    "calendar of bookings": ("dashboard/calendar/*",),
    "calendars": ("goodbye.html", "dashboard/calendars/*", "dashboard/your_data/[de]*"),
    "contacts": ("dashboard/calls/*", "dashboard/contacts/*", "dashboard/conversations/*"),
    "dashboard": ("dashboard/*",),
    "HubSpot": ("dashboard/crm/fields.html",),
    "event types": ("dashboard/event_types/*",),
    "organization": ("organization/*",),
    "plans": ("plans/*",),
    "payments": ("payments/*", "dashboard/payments/*"),
    "security": ("oidc_refused.html", "two_factor.html", "dashboard/security/*"),
    "sign up": ("sign_up/*",),
    "webhooks": (
        *("dashboard/notifications/*", "dashboard/numbers/*", "dashboard/profile/*"),
        "dashboard/branding/*",
        *("dashboard/webhooks/*", "dashboard/crm/[clsd]*"),
    ),
    "widget": ("widget/demo.html",),
}
SOURCES = Path(openslot.doors.web.__file__).parent
TEMPLATES = SOURCES / "templates"
API_DOCS = "/api/docs"


@cache
def list_page_templates() -> frozenset[str]:
    """List the templates of whole pages: those with a layout, except layouts that no code names."""
    code = "".join(path.read_text() for path in SOURCES.rglob("*.py"))
    layouts = {
        str(path.relative_to(TEMPLATES)): set(re.findall(r'{% extends "([^"]+)" %}', path.read_text()))
        for path in TEMPLATES.rglob("*.html")
    }
    extended = set().union(*layouts.values())
    return frozenset(name for name, own in layouts.items() if own and (name not in extended or f'"{name}"' in code))


def list_walked_templates(walk: str) -> set[str]:
    """List the templates of a walk; an asterisk stands for names in one folder."""
    return {
        name
        for name in list_page_templates()
        for pattern in WALKS[walk]
        if fnmatchcase(name, pattern) and name.count("/") == pattern.count("/")
    }


@contextmanager
def recording_templates() -> Iterator[dict[str, str]]:
    """Collect by their paths which templates this process renders pages from."""
    rendered: dict[str, str] = {}
    render = pages.render

    def record(template: str, locale: Locale, **values: object) -> bytes:
        rendered[str(values.get("this_path", API_DOCS))] = template
        return render(template, locale, **values)

    with patch.object(pages, "render", record), patch.object(api_docs, "render", record):
        yield rendered
