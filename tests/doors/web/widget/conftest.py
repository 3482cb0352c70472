"""What tests of the widget ask for: a service with a plain page that can be framed."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from openslot.app import create_app
from openslot.platform.core.config import Settings
from openslot.platform.routing import Response, get
from tests.support.clocks import MovingClock, clock
from tests.support.live import connect, serving

__all__ = ["clock"]

FRAMED = b"""<!doctype html><html lang="en"><head><title>Framed</title>
<script type="module" src="/static/booking/embed.js"></script>
<style>body { margin: 0 } #room { height: 300px }</style></head><body><div id="room"></div>
<button id="last">Last</button>
<script>
const tell = (type, detail) => document.dispatchEvent(new CustomEvent(`openslot:${type}`, { detail }));
</script></body></html>"""


@get("/framed")
async def framed_page() -> Response:
    """Stand for a booking page: the module inside it is the real one."""
    policy = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'unsafe-inline'; frame-ancestors *"
    headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": policy}
    return Response(headers=headers, body=FRAMED)


@pytest.fixture
async def service(settings: Settings, clock: MovingClock) -> AsyncIterator[str]:
    """Serve Openslot with a page that can be framed, and tell its address."""
    async with serving(create_app(settings, clock=clock, more_routes=[framed_page])) as base_url:
        yield base_url


@pytest.fixture
async def service_client(service: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Connect to that service."""
    async with connect(service) as opened:
        yield opened
