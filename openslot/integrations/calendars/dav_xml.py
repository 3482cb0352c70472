"""The XML of CalDAV: the few requests that are made, and their answers without entities or doctypes."""

import re
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, ParseError
from xml.sax.saxutils import escape

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring
from msgspec import Struct

from openslot.integrations.calendars.errors import CalendarUnreadable
from openslot.integrations.calendars.failures import BAD_XML, NOT_CALDAV

DAV, CALDAV, SERVER = "{DAV:}", "{urn:ietf:params:xml:ns:caldav}", "{http://calendarserver.org/ns/}"
NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" xmlns:S="http://calendarserver.org/ns/"'
STATUS = re.compile(r"[1-5][0-9]{2}")
HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'


class DavResponse(Struct, frozen=True):
    """What a multistatus says of one resource."""

    href: str
    status: int
    properties: dict[str, Element]
    """Those that the server has, by their full name."""

    def text(self, name: str) -> str:
        """Return the text of a property; empty where there is none."""
        found = self.properties.get(name)
        return (found.text or "").strip() if found is not None else ""

    def hrefs(self, name: str) -> list[str]:
        """List the links of a property."""
        found = self.properties.get(name)
        links = found.iter(f"{DAV}href") if found is not None else ()
        return [link.text.strip() for link in links if link.text]


class MultiStatus(Struct, frozen=True):
    """What a server says of many resources at once."""

    answers: list[DavResponse]
    token: str | None


def propfind(*names: str) -> str:
    """Ask for properties, such as `D:getetag`."""
    return f"{HEAD}<D:propfind {NAMESPACES}><D:prop>{_write_names(names)}</D:prop></D:propfind>"


def sync_collection(token: str) -> str:
    """Ask what has changed since a token; without one, for everything."""
    return (
        f"{HEAD}<D:sync-collection {NAMESPACES}><D:sync-token>{escape(token)}</D:sync-token>"
        "<D:sync-level>1</D:sync-level><D:prop><D:getetag/></D:prop></D:sync-collection>"
    )


def multiget(hrefs: Iterable[str]) -> str:
    """Ask for the events at some places."""
    places = "".join(f"<D:href>{escape(href)}</D:href>" for href in hrefs)
    wanted = "<D:prop><D:getetag/><C:calendar-data/></D:prop>"
    return f"{HEAD}<C:calendar-multiget {NAMESPACES}>{wanted}{places}</C:calendar-multiget>"


def read_multistatus(body: bytes) -> MultiStatus:
    """Read an answer of many parts."""
    try:
        root = fromstring(body, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError, RecursionError):
        raise CalendarUnreadable(BAD_XML) from None
    if root.tag != f"{DAV}multistatus":
        raise CalendarUnreadable(NOT_CALDAV)
    token = root.find(f"{DAV}sync-token")
    return MultiStatus(list(_read_answers(root)), token.text.strip() if token is not None and token.text else None)


def _read_answers(root: Element) -> Iterator[DavResponse]:
    for response in root.iter(f"{DAV}response"):
        href = response.find(f"{DAV}href")
        if href is None or not href.text:
            continue
        status = response.find(f"{DAV}status")
        properties = {
            each.tag: each
            for part in response.findall(f"{DAV}propstat")
            if _read_status(part.find(f"{DAV}status")) == 200
            for prop in part.findall(f"{DAV}prop")
            for each in prop
        }
        yield DavResponse(href.text.strip(), _read_status(status) if status is not None else 200, properties)


def _read_status(status: Element | None) -> int:
    words = (status.text or "").split() if status is not None else []
    return int(words[1]) if len(words) > 1 and STATUS.fullmatch(words[1]) else 200


def _write_names(names: Iterable[str]) -> str:
    return "".join(f"<{name}/>" for name in names)
