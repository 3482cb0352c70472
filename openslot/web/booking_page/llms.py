"""The description of the service for assistants, as llmstxt.org proposes."""

from openslot.bookings.public_api import booking_limit
from openslot.core.work import Work
from openslot.routing import Response, get
from openslot.web.booking_page.markdown import write_markdown

PLAIN = "text/plain; charset=utf-8"


@get("/llms.txt")
async def llms_text(work: Work) -> Response:
    """Explain to assistants what the service is, and how to book with it."""
    settings = work.runtime.settings
    text = write_markdown("llms.txt", base_url=settings.public_url, bookings_per_minute=booking_limit(settings).most)
    return Response(headers={"content-type": PLAIN, "cache-control": "public, max-age=3600"}, body=text.encode())
