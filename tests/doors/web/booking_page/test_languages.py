"""The booking pages in every language: no English is left on any of them."""

import httpx2
import pytest

from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from tests.doors.web.booking_page.conftest import PAGE, TEN, book, filled
from tests.support.languages import check_language, english_texts, list_for_layout


@pytest.mark.rest("reads every page in every language")
async def test_every_state_is_in_the_readers_language(
    client: httpx2.AsyncClient, runtime: Runtime, intro: EventType, asking: EventType, group: EventType
) -> None:
    manage, gone = await book(client), await book(client, start="2026-03-17T10:00:00Z")
    await client.post(f"{gone}/cancel", data={"reason": "Qxz"})
    wrong = {**filled(name="", email="qxz", website="x"), "answers.phone": "12"}
    got = (
        "/mara",
        PAGE,
        "/mara/group",
        f"{PAGE}?month=2027-01",
        f"{PAGE}?start={TEN}",
        f"{PAGE}?view=zones&search=xyzzy",
    )
    managed = [manage + end for end in ("?done=booked", "/reschedule", "/cancel", "")]
    for language in list_for_layout():
        await runtime.pool.execute("delete from rate_log")
        client.headers["accept-language"] = f"{language};q=0.9, zh"
        answers = [
            *[await client.get(path) for path in (*got, *managed)],
            *[await client.get(path) for path in (gone, f"{gone}?done=cancelled", "/nobody", "/manage/x")],
            await client.post("/mara/asking", data=wrong),
            await client.post("/mara/asking", data={**filled(guests="qxz"), "answers.team": "Many"}),
            await client.post(f"{manage}/reschedule", data={"start": "2026-03-17T10:07:00Z", "reason": "x" * 501}),
        ]

        for answer in answers:
            check_language(answer, language, english_texts(language))
        expected = [200] * 4 + [409, 200] + [200] * 6 + [404] * 2 + [400] * 3
        assert [answer.status_code for answer in answers] == expected, language
