"""What a booking page costs: one statement for all that it shows, and a place in its address's log."""

from contextlib import nullcontext

import pytest

from openslot.app import create_app
from openslot.core.config import Settings
from openslot.core.work import Runtime
from openslot.event_types.models import EventType
from tests.access.test_statements import CountingPool
from tests.live import connect, serving
from tests.web.booking_page.conftest import PAGE, TEN


@pytest.mark.parametrize("path", ["/mara", PAGE, f"{PAGE}?month=2026-04&tz=Asia/Tokyo", f"{PAGE}?start={TEN}"])
async def test_a_page_is_two_statements(settings: Settings, runtime: Runtime, intro: EventType, path: str) -> None:
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url) as client:
        answer = await client.get(path)

    assert answer.status_code == 200
    counted, read = pool.asked
    assert "insert into rate_log" in counted
    assert "insert" not in read
