"""Query parameters and paths: every wrong one is named at once, and nothing in an address breaks anything."""

import httpx2
import pytest

NOT_ALLOWED = "has characters that are not allowed"
OUT_OF_RANGE = "is a number out of range"
ID = "01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f"


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", {"page": 1, "limit": 20}),
        ("page=2&limit=100", {"page": 2, "limit": 100}),
        ("page=1000000", {"page": 1_000_000}),
        ("q=caf%C3%A9+au+lait", {"q": "café au lait"}),
        ("q=%zz", {"q": "%zz"}),
        ("q=a%26b%3Dc", {"q": "a&b=c"}),
        ("color=blue&from=2026-03-16", {"color": "blue", "from": "2026-03-16"}),
        ("tag=a&tag=b", {"tag": ["a", "b"]}),
        ("at=2026-03-16T09:00:00Z", {"page": 1}),
        ("to=2026-03-16", {"to": "2026-03-16"}),
        ("at=2026-03-16T09:00:00%2B02:00", {"page": 1}),
        ("unknown=1&unknown=2&pgae=x", {"page": 1}),
        ("unknown=%00%ff", {"page": 1}),
        ("&&=&=x&;", {"page": 1}),
    ],
)
async def test_a_sound_query_is_taken_and_unknown_names_are_ignored(
    probe: httpx2.AsyncClient, query: str, shown: dict[str, object]
) -> None:
    answer = await probe.get(f"/api/v1/probe?{query}")

    assert answer.status_code == 200, answer.text
    assert answer.json() | shown == answer.json()


@pytest.mark.parametrize(
    ("query", "details"),
    [
        ("page=0", {"page": "must be at least 1"}),
        ("page=-1", {"page": "must be at least 1"}),
        ("page=1000001", {"page": "must be at most 1000000"}),
        ("page=x", {"page": "must be an integer"}),
        ("page=", {"page": "must be an integer"}),
        ("page=1.5", {"page": "must be an integer"}),
        ("page=1_000", {"page": "must be an integer"}),
        ("page=%EF%BC%91", {"page": "must be an integer"}),
        ("page=1&page=2", {"page": "is given more than once"}),
        ("page=1&page=1", {"page": "is given more than once"}),
        ("limit=101", {"limit": "must be at most 100"}),
        ("color=green", {"color": "must be one of red, blue"}),
        ("from=yesterday", {"from": "must be a date, such as 2026-03-16"}),
        ("from=0001-01-01", {"from": "must be between 1970 and 2200"}),
        ("at=x", {"at": "must be an ISO 8601 date-time, such as 2026-03-16T09:00:00Z"}),
        ("at=2026-03-16T09:00:00", {"at": "must have an offset, such as Z"}),
        ("at=9999-12-31T23:59:59Z", {"at": "must be between 1970 and 2200"}),
        ("at=2026-03-16T09:00:00+02:00", {"at": "must be an ISO 8601 date-time, such as 2026-03-16T09:00:00Z"}),
        ("to=soon", {"to": "must be a date or a date-time, such as 2026-03-16 or 2026-03-16T09:00:00Z"}),
        ("number=9223372036854775808", {"number": OUT_OF_RANGE}),
        (f"number={'9' * 4000}", {"number": OUT_OF_RANGE}),
        (f"number={'9' * 5000}", {"number": OUT_OF_RANGE}),
        ("share=nan", {"share": OUT_OF_RANGE}),
        ("share=inf", {"share": OUT_OF_RANGE}),
        ("share=1e400", {"share": OUT_OF_RANGE}),
        ("q=%00", {"q": NOT_ALLOWED}),
        ("q=a%0Ab", {"q": NOT_ALLOWED}),
        ("q=a%0A", {"q": NOT_ALLOWED}),
        ("q=%7F", {"q": NOT_ALLOWED}),
        ("q=%C2%85", {"q": NOT_ALLOWED}),
        ("q=%ff", {"q": NOT_ALLOWED}),
        ("q=%ED%A0%80", {"q": NOT_ALLOWED}),
        ("tag=a&tag=%00", {"tag": NOT_ALLOWED}),
        (
            "page=x&limit=0&color=&at=x&q=%00&to=2026-02-30&other=1",
            {
                "page": "must be an integer",
                "limit": "must be at least 1",
                "color": "must be one of red, blue",
                "at": "must be an ISO 8601 date-time, such as 2026-03-16T09:00:00Z",
                "q": NOT_ALLOWED,
                "to": "is a date or time that does not exist",
            },
        ),
    ],
)
async def test_every_wrong_parameter_is_named_at_once(
    probe: httpx2.AsyncClient, query: str, details: dict[str, str]
) -> None:
    answer = await probe.get(f"/api/v1/probe?{query}")

    assert answer.status_code == 400
    assert answer.json() == {"error": "Invalid request", "details": details}


@pytest.mark.parametrize(
    ("query", "details"),
    [
        ("", {"zone": "is required", "seats": "is required"}),
        ("seats=0", {"zone": "is required", "seats": "must be at least 1"}),
        ("zone=UTC", {"seats": "is required"}),
    ],
)
async def test_missing_and_wrong_parameters_are_named_together(
    probe: httpx2.AsyncClient, query: str, details: dict[str, str]
) -> None:
    answer = await probe.get(f"/api/v1/probe/needs?{query}")

    assert answer.status_code == 400
    assert answer.json()["details"] == details


async def test_an_id_is_read_in_either_letter_case(probe: httpx2.AsyncClient) -> None:
    lower = await probe.get(f"/api/v1/probe/things/{ID}")
    upper = await probe.get(f"/api/v1/probe/things/{ID.upper()}")

    assert lower.json() == upper.json() == {"id": ID}


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "x" * 36,
        ID.replace("-", ""),
        f"%7B{ID}%7D",
        f"urn:uuid:{ID}",
        ID[:-1],
        ID + "0",
        ID[:-1] + "_",
        ID + "%00",
        ID + "%0A",
        ID[:-1] + "%00",
        ID[:-1] + "%D9%A1",
        "%ff%fe",
        "%00",
        "%F0%9F%98%80",
        "%zz",
        "..%2f..%2fetc",
        "'%20or%201=1--",
        "x" * 5000,
    ],
)
async def test_what_is_no_id_names_nothing(probe: httpx2.AsyncClient, text: str) -> None:
    answer = await probe.get(f"/api/v1/probe/things/{text}")

    assert answer.status_code == 404
    assert answer.json() == {"error": "Not found"}


@pytest.mark.parametrize("slug", ["%00", "a%00b", "%0A", "%1B", "%7F", "%C2%85", "%E2%80%A8", "%ED%A0%80%00"])
async def test_a_path_with_control_characters_names_nothing(probe: httpx2.AsyncClient, slug: str) -> None:
    answer = await probe.get(f"/api/v1/probe/slugs/{slug}")

    assert answer.status_code == 404
    assert answer.json() == {"error": "Not found"}


@pytest.mark.parametrize("slug", ["intro", "a%20b", "%C3%A9", "%zz", "%ff", "%25"])
async def test_any_other_word_of_a_path_reaches_its_handler(probe: httpx2.AsyncClient, slug: str) -> None:
    answer = await probe.get(f"/api/v1/probe/slugs/{slug}")

    assert answer.status_code == 200


async def test_an_address_without_end_is_refused(probe: httpx2.AsyncClient) -> None:
    long_query = await probe.get(f"/api/v1/probe?q={'x' * 9000}")
    long_path = await probe.get(f"/api/v1/probe/slugs/{'x' * 9000}")

    assert long_query.status_code == long_path.status_code == 400
    assert long_query.json() == {"error": "The address must not be longer than 8 KiB"}
