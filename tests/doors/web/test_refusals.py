"""How pages say no: calm words, a way on, and never a 500 for what somebody sent."""

from itertools import product

import httpx2

from openslot.domains.accounts.models import User
from tests.support.page import read_page

FORM = {"content-type": "application/x-www-form-urlencoded"}
UNREADABLE = (b"email=%ff&password=x", b"email=%ED%A0%80&password=x", b"email=a&email=b", b"email", b"\xff\xfe", b"%")
ODD = (*UNREADABLE, b"&".join(b"f%d=1" % n for n in range(200)), b"=&=&=", b"=")
WRONG_FIELDS = (
    ("", "", "Enter your email address"),
    ("a@b.example", "", "Enter your password"),
    ("a\x00@b.example", "x", "Has characters that are not allowed"),
    ("a" * 255, "x", "Must have at most 254 characters"),
    ("a@b.example", "x" * 201, "Must have at most 200 characters"),
)


async def test_an_unknown_path_is_a_page_with_a_way_on(client: httpx2.AsyncClient) -> None:
    for path in ("/nothing", "/nothing/at/all", "/account/nothing", "/%00", "/%ff", "/login/x"):
        answer = await client.get(path)

        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "Page not found" in read_page(answer).headings
        assert "/login" in read_page(answer).addresses


async def test_what_a_member_does_not_find_keeps_the_navigation(member: httpx2.AsyncClient) -> None:
    for path in ("/nothing", "/bookings/0192e9a0-0000-7000-8000-000000000000"):
        answer = await member.get(path)

        assert answer.status_code == 404
        assert '<nav aria-label="Main">' in answer.text
        assert 'href="/">Go to your home page' in answer.text


async def test_hosts_read_words_for_hosts_and_invitees_those_for_invitees(
    member: httpx2.AsyncClient, client: httpx2.AsyncClient
) -> None:
    nobody = "0192e9a0-0000-7000-8000-000000000000"
    own = [await member.get(path) for path in (f"/bookings/{nobody}", f"/event-types/{nobody}")]
    public = [await member.get(path) for path in ("/manage/x.y", "/nobody-at-all/intro")]

    for answer in own:
        assert "It does not exist any more, or it belongs to somebody else." in answer.text
        assert "your host" not in answer.text
        assert "the person who sent it to you" not in answer.text
    assert "to reach your host" in public[0].text
    assert "the person who sent it to you" in public[1].text


async def test_an_invitee_is_told_what_to_do_with_an_old_link(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/manage/old-link")

    assert answer.status_code == 404
    assert "Open the link in the newest email" in answer.text
    assert "Go to sign in" not in answer.text


async def test_an_invitee_is_led_to_what_else_the_host_offers(client: httpx2.AsyncClient, user: User) -> None:
    assert f'href="/{user.username}">See what else' in (await client.get(f"/{user.username}/nothing")).text


async def test_a_method_that_is_not_taken_is_a_page(client: httpx2.AsyncClient) -> None:
    for method, path in (("PUT", "/login"), ("DELETE", "/account"), ("POST", "/"), ("GET", "/logout")):
        answer = await client.request(method, path)

        assert answer.status_code == 405, (method, path)
        assert "Action not available" in read_page(answer).headings


async def test_a_body_that_is_no_form_is_never_a_fault_of_ours(member: httpx2.AsyncClient) -> None:
    paths = ("/login", "/account/keys", "/account/password", "/logout")
    for path, body in product(paths, ODD):
        answer = await member.post(path, content=body, headers=FORM)

        assert answer.status_code in {303, 400}, (path, body)


async def test_an_unreadable_form_says_what_to_do(client: httpx2.AsyncClient) -> None:
    for body in UNREADABLE:
        answer = await client.post("/login", content=body, headers=FORM)

        assert answer.status_code == 400, body
        assert "reload the page and send it again" in read_page(answer).text


async def test_a_field_that_can_not_be_right_is_told_at_the_field(client: httpx2.AsyncClient, user: User) -> None:
    for email, password, words in WRONG_FIELDS:
        answer = await client.post("/login", data={"email": email, "password": password})

        assert answer.status_code == 400, words
        assert words in read_page(answer).faults.values()
        assert 'aria-invalid="true"' in answer.text


async def test_no_query_breaks_a_page(client: httpx2.AsyncClient) -> None:
    for query in ("next=%ff", "next=%00", "next", "&&&", "next=" + "x" * 5000, "a=1&" * 100):
        assert (await client.get(f"/login?{query}")).status_code == 200, query


async def test_a_body_of_another_kind_or_size_is_refused_as_a_page(client: httpx2.AsyncClient) -> None:
    json = await client.post("/login", json={"email": "a"})
    large = await client.post("/login", content=b"a=" + b"x" * 300_000, headers=FORM)

    assert (json.status_code, large.status_code) == (415, 413)
    assert "<h1>" in json.text
    assert "<h1>" in large.text


async def test_pages_allow_no_foreign_or_inline_code(client: httpx2.AsyncClient) -> None:
    for path in ("/login", "/api/docs", "/nothing"):
        answer = await client.get(path)

        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        for inline in ("<style", " style=", "<script>", " onclick="):
            assert inline not in answer.text
