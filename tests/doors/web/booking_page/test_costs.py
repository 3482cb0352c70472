"""What a booking page costs: one statement for all that it shows, and a place in its address's log."""

from contextlib import nullcontext

from openslot.app import create_app
from openslot.domains.event_types.models import EventType
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.doors.web.booking_page.conftest import PAGE, TEN
from tests.support.live import connect, serving
from tests.support.statements import CountingPool


async def test_a_page_is_two_statements(settings: Settings, runtime: Runtime, intro: EventType) -> None:
    pool = CountingPool(runtime.pool)
    runtime.pool = pool
    app = create_app(settings)
    app._open_runtime = lambda: nullcontext(runtime)
    async with serving(app) as url, connect(url) as client:
        for path in ("/mara", PAGE, f"{PAGE}?month=2026-04&tz=Asia/Tokyo", f"{PAGE}?start={TEN}"):
            pool.asked.clear()
            answer = await client.get(path)

            assert answer.status_code == 200, path
            assert len(pool.asked) == 2, (path, pool.asked)
            assert "insert into rate_log" in pool.asked[0], path
            assert "insert" not in pool.asked[1], path
