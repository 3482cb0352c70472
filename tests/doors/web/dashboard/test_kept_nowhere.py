"""Pages of an account are kept by no browser and no cache on the way."""

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.doors.http.routes import ROUTES
from tests.support.host import Book

PAGES = sorted(
    route.template
    for route in ROUTES
    if route.door.name in {"pages", "administration"} and "GET" in route.handlers and "{" not in route.template
)
# The same for everyone, but for a link to the sign-in or the account.
SHARED = {"/api/docs", "/help/save-bar", "/help/zones", "/widget-demo"}


@pytest.mark.rest("opens every page or sends every form")
async def test_every_page_of_an_account_is_kept_nowhere(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    await runtime.pool.execute("update users set is_admin = true where id = $1", user.id)
    booking = await book()
    of_things = [
        f"/bookings/{booking.id}",
        f"/contacts/{booking.contact_id}",
        f"/event-types/{booking.event_type_id}",
        f"/admin/users/{user.id}",
    ]
    shown = []
    for path in [*(each for each in PAGES if each not in SHARED), *of_things]:
        answer = await member.get(path)
        assert "no-store" in answer.headers["cache-control"], path
        shown += [path] if answer.status_code == 200 and user.name in answer.text else []

    assert len(shown) > 50
    assert set(of_things) <= set(shown)
