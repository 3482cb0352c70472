"""How pages say no: calm words, a way on, and never a 500 for what somebody sent."""

import httpx2
import pytest

from openslot.accounts.models import User

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize("path", ["/nothing", "/nothing/at/all", "/account/nothing", "/%00", "/%ff", "/login/x"])
async def test_an_unknown_path_is_a_page_with_a_way_on(client: httpx2.AsyncClient, path: str) -> None:
    answer = await client.get(path)

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "There is nothing here" in answer.text
    assert 'href="/login"' in answer.text


async def test_a_member_is_led_to_the_account(member: httpx2.AsyncClient) -> None:
    assert 'href="/account">To your account' in (await member.get("/nothing")).text


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "/login"), ("DELETE", "/account"), ("POST", "/"), ("GET", "/logout")]
)
async def test_a_method_that_is_not_taken_is_a_page(client: httpx2.AsyncClient, method: str, path: str) -> None:
    answer = await client.request(method, path)

    assert answer.status_code == 405
    assert "This page can&#39;t do that" in answer.text


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe",
        b"email=%ff&password=x",
        b"email=%ED%A0%80&password=x",
        b"email=a&email=b",
        b"email",
        b"&".join(b"f%d=1" % n for n in range(200)),
        b"%",
        b"=&=&=",
    ],
)
@pytest.mark.parametrize("path", ["/login", "/account/keys", "/account/password", "/logout"])
async def test_a_body_that_is_no_form_is_never_a_fault_of_ours(
    member: httpx2.AsyncClient, body: bytes, path: str
) -> None:
    answer = await member.post(path, content=body, headers=FORM)

    assert answer.status_code in {303, 400}


@pytest.mark.parametrize("body", [b"email=%ff&password=x", b"email=a&email=b", b"email"])
async def test_an_unreadable_form_says_what_to_do(client: httpx2.AsyncClient, body: bytes) -> None:
    answer = await client.post("/login", content=body, headers=FORM)

    assert answer.status_code == 400
    assert "reload the page and send it again" in answer.text


@pytest.mark.parametrize(
    ("email", "password", "words"),
    [
        ("", "", "Enter your e-mail address"),
        ("a@b.example", "", "Enter your password"),
        ("a\x00@b.example", "x", "Remove the line breaks and control characters"),
        ("a" * 255, "x", "Use at most 254 characters"),
        ("a@b.example", "x" * 201, "Use at most 200 characters"),
    ],
)
async def test_a_field_that_can_not_be_right_is_told_at_the_field(
    client: httpx2.AsyncClient, user: User, email: str, password: str, words: str
) -> None:
    answer = await client.post("/login", data={"email": email, "password": password})

    assert answer.status_code == 400
    assert words in answer.text
    assert 'aria-invalid="true"' in answer.text


@pytest.mark.parametrize("query", ["next=%ff", "next=%00", "next", "&&&", "next=" + "x" * 5000, "a=1&" * 100])
async def test_no_query_breaks_a_page(client: httpx2.AsyncClient, query: str) -> None:
    assert (await client.get(f"/login?{query}")).status_code == 200


async def test_a_body_of_another_kind_or_size_is_refused_as_a_page(client: httpx2.AsyncClient) -> None:
    json = await client.post("/login", json={"email": "a"})
    large = await client.post("/login", content=b"a=" + b"x" * 300_000, headers=FORM)

    assert (json.status_code, large.status_code) == (415, 413)
    assert "<h1>" in json.text
    assert "<h1>" in large.text


@pytest.mark.parametrize("path", ["/login", "/api/docs", "/nothing"])
async def test_pages_allow_no_foreign_or_inline_code(client: httpx2.AsyncClient, path: str) -> None:
    answer = await client.get(path)

    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "<style" not in answer.text
    assert " style=" not in answer.text
    assert "<script>" not in answer.text
