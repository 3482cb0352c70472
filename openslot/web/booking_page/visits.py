"""Which requests are visits of a public page, and where they come from."""

from urllib.parse import urlsplit
from uuid import UUID

from openslot.analytics.models import PageView
from openslot.analytics.operations import count_view
from openslot.analytics.rules import is_robot, name_source
from openslot.core.work import Work
from openslot.core.zones import get_zone
from openslot.routing import Request
from openslot.web.booking_page.options import Options

NAVIGATIONS = frozenset({"document", "iframe", "frame"})


def count_visit(
    work: Work, request: Request, options: Options, *, username: str, zone: str, event_type_id: UUID | None = None
) -> None:
    """Count a visit of a host's page or of an event type's page, if this request is one."""
    own_hosts = list_own_hosts(work, request)
    if not is_visit(request, own_hosts):
        return
    source = name_source(
        campaign=options.carried.get("utm_source", ""),
        embedded_in=options.embed_origin if options.is_embedded else None,
        referrer=request.headers.get("referer", ""),
        own_hosts=own_hosts,
    )
    on = work.now.astimezone(get_zone(zone)).date()
    view = PageView(username=username, event_type_id=event_type_id, on=on, source=source)
    count_view(work.runtime, view)


def list_own_hosts(work: Work, request: Request) -> set[str]:
    """List the names under which this service is reached."""
    return {request.headers.get("host", "").lower(), urlsplit(work.runtime.settings.public_url).netloc.lower()}


def is_visit(request: Request, own_hosts: set[str]) -> bool:
    """Return whether a person opened the page: no program, no prefetch, and no further step on the same page."""
    headers = request.headers
    return (
        request.method == "GET"
        and headers.get("sec-fetch-dest", "document") in NAVIGATIONS
        and "prefetch" not in headers.get("sec-purpose", headers.get("purpose", ""))
        and not is_robot(headers.get("user-agent", ""))
        and not _is_step(request, own_hosts)
    )


def _is_step(request: Request, own_hosts: set[str]) -> bool:
    try:
        referrer = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return False
    return referrer.netloc.lower() in own_hosts and referrer.path == request.path
