"""No page shows another host's event types."""

from collections.abc import Iterator

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from openslot.platform.routing import collect, find_declaration
from tests.doors.web.event_types.conftest import load, offer
from tests.support.forms import NOBODY


def paths(method: str, event_type: object = NOBODY) -> Iterator[str]:
    for handler in collect("openslot.doors.web.dashboard.event_types"):
        declaration = find_declaration(handler)
        assert declaration is not None
        if declaration.method == method:
            yield declaration.path.replace("{event_type_id}", str(event_type))


@pytest.mark.rest("opens every page or sends every form")
async def test_another_hosts_event_type_is_the_same_404_as_none(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User
) -> None:
    theirs = await load(runtime, stranger, await offer(runtime, stranger, "theirs", is_private=True))
    for method in ("GET", "POST"):
        for path, nothing in zip(paths(method, theirs.id), paths(method), strict=True):
            if path == nothing:
                continue
            data = {"name": "Mine", "before": "", "act": "add"} if method == "POST" else None
            answer = await member.request(method, path, data=data)
            other = await member.request(method, nothing, data=data)

            assert answer.status_code == 404, (method, path)
            assert answer.text == other.text
    assert await load(runtime, stranger, theirs) == theirs
    assert "Theirs" not in (await member.get("/event-types")).text
