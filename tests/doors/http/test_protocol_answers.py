"""Answers on the wire: where they end, what they never hold, and what becomes of an app that breaks."""

import pytest

from tests.doors.http.talking import GET, LAST, Handler, Receive, Scope, Send, answer, talking


async def stream(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-any", b"1")]})
    for part in (b"ab", b"", b"c"):
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body"})


@pytest.mark.parametrize(
    ("line", "body"),
    [
        (b"GET / HTTP/1.1", b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"),
        (b"GET / HTTP/1.0", b"abc"),
        (b"HEAD / HTTP/1.1", b""),
    ],
)
async def test_an_answer_without_a_length_ends_where_the_client_can_tell(line: bytes, body: bytes) -> None:
    async with talking(stream) as talk:
        await talk.send(line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
        head, _, told = (await talk.read_to_the_end()).partition(b"\r\n\r\n")

    assert told == body
    assert (b"transfer-encoding: chunked" in head) is (line == b"GET / HTTP/1.1")


@pytest.mark.parametrize("status", [204, 304])
async def test_an_answer_that_can_have_no_body_has_none(status: int) -> None:
    async def empty(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"must not be seen"})

    async with talking(empty) as talk:
        await talk.send(GET + LAST)
        told = await talk.read_to_the_end()

    assert told.count(b"HTTP/1.1 %d " % status) == 2
    assert b"must not" not in told
    assert b"transfer-encoding" not in told


async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise LookupError("swordfish")


async def say_nothing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    return


async def split_the_answer(_scope: Scope, _receive: Receive, send: Send) -> None:
    await answer(send, b"", (b"location", b"/\r\nSet-Cookie: a=b"))


@pytest.mark.rest("waits for seconds")
@pytest.mark.parametrize("broken", [fail, say_nothing, split_the_answer])
async def test_an_app_that_breaks_is_a_500_in_the_apis_shape(
    broken: Handler, capsys: pytest.CaptureFixture[str]
) -> None:
    async with talking(broken) as talk:
        await talk.send(GET)
        told = await talk.read_to_the_end()
    capsys.readouterr()

    assert told.startswith(b"HTTP/1.1 500 ")
    assert told.endswith(b'{"error":"Internal server error"}')
    assert b"Set-Cookie" not in told


@pytest.mark.parametrize("length", [b"2", b"4"])
async def test_an_answer_that_is_not_as_long_as_it_says_is_cut_off(
    length: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    async def lie(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await send({"type": "http.response.body", "body": b"bc"})

    async with talking(lie) as talk:
        await talk.send(GET + LAST)
        told = await talk.read_to_the_end()
    capsys.readouterr()

    assert told.partition(b"\r\n\r\n")[2] == b"a"
