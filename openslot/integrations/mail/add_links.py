"""Links that put a meeting into a calendar on the web."""

from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from openslot.integrations.mail.calendar_entry import CalendarEntry

GOOGLE = "https://calendar.google.com/calendar/render"
OUTLOOK = "https://outlook.live.com/calendar/0/deeplink/compose"
# Longer links are cut off by some mail programs.
LONGEST_DETAILS = 500


def google_url(entry: CalendarEntry) -> str:
    """Write the link that opens a new entry in Google Calendar."""
    return _url(
        GOOGLE,
        {
            "action": "TEMPLATE",
            "text": entry.summary,
            "dates": f"{_compact(entry.starts_at)}/{_compact(entry.ends_at)}",
            "details": entry.description[:LONGEST_DETAILS],
            "location": entry.location[:LONGEST_DETAILS],
        },
    )


def outlook_url(entry: CalendarEntry) -> str:
    """Write the link that opens a new entry in Outlook on the web."""
    return _url(
        OUTLOOK,
        {
            "path": "/calendar/action/compose",
            "rru": "addevent",
            "subject": entry.summary,
            "startdt": entry.starts_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "enddt": entry.ends_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "body": entry.description[:LONGEST_DETAILS],
            "location": entry.location[:LONGEST_DETAILS],
        },
    )


def _url(base: str, values: dict[str, str]) -> str:
    return f"{base}?{urlencode({name: value for name, value in values.items() if value}, quote_via=quote)}"


def _compact(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
