"""The meetings of a contact: what counts, what is shown, and what stays when the contact is gone."""

from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.contacts.conftest import Add, Book, Rest


async def test_meetings_stand_on_their_side_of_now(rest: Rest, add: Add, book: Book) -> None:
    contact = await add()
    ids = {hours: str(await book(contact, hours=hours)) for hours in (-48, -24, -0.25, 3, 30)}

    body = (await rest("GET", f"/{contact.id}")).json()

    assert [each["id"] for each in body["upcomingMeetings"]] == [ids[-0.25], ids[3], ids[30]]
    assert [each["id"] for each in body["pastMeetings"]] == [ids[-24], ids[-48]]
    assert body["meetingCount"] == 5
    meeting = body["upcomingMeetings"][1]
    assert set(meeting) == {"id", "startTime", "endTime", "status", "eventType"}
    assert set(meeting["eventType"]) == {"id", "name", "slug"}
    assert meeting["startTime"].endswith("Z")


async def test_cancelled_meetings_show_once_their_time_is_over_and_never_count(
    rest: Rest, add: Add, book: Book
) -> None:
    contact = await add()
    over = await book(contact, hours=-5, status="CANCELLED")
    await book(contact, hours=5, status="CANCELLED")

    body = (await rest("GET", f"/{contact.id}")).json()

    assert body["upcomingMeetings"] == []
    assert [(each["id"], each["status"]) for each in body["pastMeetings"]] == [(str(over), "CANCELLED")]
    assert body["meetingCount"] == 0


async def test_what_waits_for_payment_is_not_there_yet(rest: Rest, add: Add, book: Book) -> None:
    contact = await add()
    for hours in (-5, 5):
        await book(contact, hours=hours, status="PENDING_PAYMENT")

    body = (await rest("GET", f"/{contact.id}")).json()

    assert (body["upcomingMeetings"], body["pastMeetings"], body["meetingCount"]) == ([], [], 0)
    assert (await rest("GET")).json()["data"][0]["meetingCount"] == 0


async def test_the_hundred_nearest_are_shown_and_all_are_counted(rest: Rest, add: Add, book: Book) -> None:
    contact = await add()
    ids = [str(await book(contact, hours=hours)) for hours in range(1, 103)]

    body = (await rest("GET", f"/{contact.id}")).json()

    assert [each["id"] for each in body["upcomingMeetings"]] == ids[:100]
    assert body["meetingCount"] == 102


async def test_a_change_answers_with_the_meetings(rest: Rest, add: Add, book: Book) -> None:
    contact = await add()
    await book(contact, hours=5)

    body = (await rest("PATCH", f"/{contact.id}", json={"name": "Noor"})).json()

    assert (body["meetingCount"], len(body["upcomingMeetings"])) == (1, 1)


async def test_a_booking_outlives_its_contact(runtime: Runtime, rest: Rest, add: Add, book: Book) -> None:
    contact = await add()
    booking_id = await book(contact, hours=5)

    assert (await rest("DELETE", f"/{contact.id}")).status_code == 200

    row = await runtime.work(OPERATOR).db.fetchrow("select * from bookings where id = $1", booking_id)
    assert row is not None
    assert (row["contact_id"], row["invitee_name"], row["invitee_email"]) == (None, "Noor", "noor@haddad.example")
