"""A page that shows the widget in its three modes, with an event type of the demo data."""

from openslot.accounts import operations as accounts
from openslot.core.work import Work
from openslot.event_types.models import EventType
from openslot.event_types.operations import get_host_page
from openslot.http.security import PAGE_POLICY
from openslot.routing import Response, get
from openslot.web.booking_page.refusing import VIEWS
from openslot.web.pages import page

# The first host of the demo data; no real account has an address in a domain that can't exist.
DEMO_HOST = "mara@harbor.example"
WITH_FRAMES = f"{PAGE_POLICY.decode()}; frame-src 'self'"


@get("/widget-demo", limit=VIEWS)
async def show_widget_demo(work: Work) -> Response:
    """Show the widget, or what to do where there is no demo data."""
    base_url = work.runtime.settings.public_url
    host = await accounts.find_user_by_email(work, DEMO_HOST)
    offers = (await get_host_page(work, host.username)).event_types if host else ()
    offer = next((each for each in offers if _is_simple(each)), None)
    if host is None or offer is None:
        return page("widget/no_demo.html", None, status=404, base_url=base_url)
    shown = page(
        "widget/demo.html",
        None,
        base_url=base_url,
        path=f"/{host.username}/{offer.slug}",
        offer=offer,
        host=host,
    )
    return Response(headers={**shown.headers, "content-security-policy": WITH_FRAMES}, body=shown.body)


def _is_simple(offer: EventType) -> bool:
    return offer.price is None and offer.seats == 1 and bool(offer.description)
