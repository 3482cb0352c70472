"""The booking pages in every language: no English is left on any of them."""

import httpx2
import pytest

from openslot.event_types.models import EventType
from openslot.i18n.languages import LANGUAGES
from tests.web.booking_page.conftest import PAGE, TEN, book, filled
from tests.web.test_languages import check, english_texts


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_state_is_in_the_readers_language(
    language: str, client: httpx2.AsyncClient, intro: EventType, asking: EventType, group: EventType
) -> None:
    client.headers["accept-language"] = f"{language};q=0.9, zh"
    english = english_texts(language)
    manage, gone = await book(client), await book(client, start="2026-03-17T10:00:00Z")
    await client.post(f"{gone}/cancel", data={"reason": "Qxz"})
    wrong = {**filled(name="", email="nobody", website="x"), "answers.phone": "12"}
    answers = [
        *[await client.get(path) for path in ("/mara", PAGE, "/mara/group", f"{PAGE}?month=2027-01")],
        *[await client.get(PAGE, params=params) for params in ({"start": TEN}, {"view": "zones", "search": "xyzzy"})],
        *[await client.get(manage + end) for end in ("?done=booked", "/reschedule", "/cancel", "")],
        *[await client.get(path) for path in (gone, f"{gone}?done=cancelled", "/nobody", "/manage/x")],
        await client.post("/mara/asking", data=wrong),
        await client.post("/mara/asking", data={**filled(guests="nobody"), "answers.team": "Many"}),
        await client.post(f"{manage}/reschedule", data={"start": "2026-03-17T10:07:00Z", "reason": "x" * 501}),
    ]

    for answer in answers:
        check(answer, language, english)
    assert [answer.status_code for answer in answers] == [200] * 4 + [409, 200] + [200] * 6 + [404] * 2 + [400] * 3
