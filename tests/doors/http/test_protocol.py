"""The connection between socket and app: what an app gets, in which order, and within which time."""

import asyncio
from typing import cast

import pytest

from openslot.doors.http.protocol.limits import ConnectionLimits
from tests.doors.http.talking import GET, LAST, Receive, Scope, Send, answer, read_body, talking


async def tell_path(scope: Scope, _receive: Receive, send: Send) -> None:
    await answer(send, f"<{scope['path']}>".encode())


async def echo(_scope: Scope, receive: Receive, send: Send) -> None:
    await answer(send, b"<" + await read_body(receive) + b">")


async def test_an_app_sees_the_request_as_asgi_describes_it() -> None:
    seen: list[Scope] = []

    async def look(scope: Scope, _receive: Receive, send: Send) -> None:
        seen.append(scope)
        await answer(send, b"")

    async with talking(look) as talk:
        await talk.send(b"GET /a%20b?c=%64 HTTP/1.1\r\nHost: x\r\nX-Two: 1 \r\nX-Two:\t2\r\nConnection: close\r\n\r\n")
        await talk.read_to_the_end()
    scope = seen[0]

    assert (scope["method"], scope["path"], scope["raw_path"], scope["query_string"]) == (
        "GET",
        "/a b",
        b"/a%20b",
        b"c=%64",
    )
    assert scope["headers"] == [(b"host", b"x"), (b"x-two", b"1"), (b"x-two", b"2"), (b"connection", b"close")]
    assert (scope["http_version"], scope["scheme"], scope["client"][0]) == ("1.1", "http", "127.0.0.1")


async def test_requests_sent_ahead_are_answered_one_by_one_and_in_order() -> None:
    running: list[int] = [0]
    max_: list[int] = []

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        running[0] += 1
        max_.append(running[0])
        body = await read_body(receive)
        await asyncio.sleep(0.001)
        await answer(send, scope["path"].encode() + b"=" + body + b";")
        running[0] -= 1

    requests = [b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n%d" % (n, n) for n in range(9)]
    async with talking(slow) as talk:
        await talk.send(b"".join(requests) + LAST)
        told = await talk.read_to_the_end()

    assert told.count(b"HTTP/1.1 200 OK") == 10
    assert [f"/{n}={n};".encode() in told for n in range(9)] == [True] * 9
    assert told.index(b"/0=0;") < told.index(b"/8=8;") < told.index(b"/last=;")
    assert max(max_) == 1


@pytest.mark.parametrize("cut", [1, 2, 3, 7, 60, 1000])
async def test_a_request_means_the_same_however_it_is_cut(cut: int) -> None:
    data = b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n"
    async with talking(echo) as talk:
        for _ in range(2):
            for at in range(0, len(data), cut):
                await talk.send(data[at : at + cut])
                await asyncio.sleep(0.001)
            assert b"<abcde>" in await talk.read(b">")


async def test_what_follows_a_chunked_body_at_once_is_not_taken_for_a_request() -> None:
    chunked = b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
    async with talking(echo) as talk:
        await talk.send(chunked + GET)
        told = await talk.read_to_the_end()

    assert told.count(b"HTTP/1.1 ") == 1
    assert b"connection: close\r\n" in told
    assert told.endswith(b"<a>")


@pytest.mark.rest("sends megabytes")
async def test_a_large_body_waits_until_the_app_asks_for_it() -> None:
    asked = asyncio.Event()
    parts: list[int] = []

    async def late(_scope: Scope, receive: Receive, send: Send) -> None:
        await asked.wait()
        more = True
        while more:
            message = await receive()
            parts.append(len(message["body"]))
            more = message["more_body"]
        await answer(send, b"")

    size = 50_000_000
    # What has arrived buys time, so that a machine that stands still for a moment is not taken for a slow client.
    async with talking(late, ConnectionLimits(body_seconds=1, body_bytes_a_second=size // 20)) as talk:
        talk.writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % size)
        talk.writer.write(bytes(size))
        # Longer than a body may take: it is the app that makes the client wait.
        await asyncio.sleep(2)
        asked.set()
        told = await talk.read_to_the_end()

    assert b"HTTP/1.1 200 OK" in told
    assert sum(parts) == size
    assert max(parts) < 1_000_000


@pytest.mark.rest("waits for seconds")
async def test_the_time_in_which_the_app_reads_nothing_is_not_the_clients() -> None:
    async def late(_scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(2.2)
        await answer(send, b"<%d>" % len(await read_body(receive)))

    async with talking(late, ConnectionLimits(body_seconds=2, body_bytes_a_second=10**9)) as talk:
        await talk.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000001\r\n\r\n" + bytes(1_000_000))
        await asyncio.sleep(2.7)
        await talk.send(b"a")

        assert (await talk.read(b">")).endswith(b"<1000001>")


@pytest.mark.rest("waits for seconds")
async def test_what_is_sent_ahead_of_a_slow_answer_waits_at_the_client() -> None:
    end = asyncio.Event()

    async def slow(_scope: Scope, _receive: Receive, send: Send) -> None:
        await end.wait()
        await answer(send, b"")

    size = 50_000_000
    async with talking(slow) as talk:
        await talk.send(LAST)
        await asyncio.sleep(0.1)
        talk.writer.write(bytes(size))
        await asyncio.sleep(1)
        waiting = talk.writer.transport.get_write_buffer_size()
        talk.writer.transport.abort()
        end.set()

    assert waiting > size / 2


async def test_an_answer_that_nobody_takes_is_given_up() -> None:
    learned: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def send_forever(_scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(500):
            await send({"type": "http.response.body", "body": bytes(100_000), "more_body": True})
        learned.set_result((await receive())["type"])

    async with talking(send_forever, ConnectionLimits(send_seconds=0.3)) as talk:
        cast("asyncio.Transport", talk.writer.transport).pause_reading()
        await talk.send(GET)

        assert await asyncio.wait_for(learned, 60) == "http.disconnect"


@pytest.mark.rest("waits for seconds")
async def test_an_answer_before_the_end_of_the_body_is_the_connections_last() -> None:
    async def refuse(_scope: Scope, _receive: Receive, send: Send) -> None:
        await answer(send, b"no", status=413)

    async with talking(refuse) as talk:
        await talk.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n" + GET[:20])
        told = await talk.read_to_the_end()
        await talk.send(GET[20:] + GET)

    assert told.count(b"HTTP/1.1 ") == 1
    assert b"connection: close\r\n" in told


async def test_an_answer_after_the_end_of_the_body_keeps_the_connection() -> None:
    async with talking(tell_path) as talk:
        await talk.send(b"POST /one HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
        first = await talk.read(b">")
        await talk.send(GET)
        second = await talk.read(b">")

    assert b"connection" not in first
    assert second.endswith(b"</a b>")


async def test_a_client_that_waits_for_100_gets_it_when_the_app_asks() -> None:
    async with talking(echo) as talk:
        await talk.send(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
        assert await talk.read(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await talk.send(b"a")
        assert (await talk.read(b">")).endswith(b"<a>")


async def test_a_client_that_waits_for_100_and_sends_all_the_same_is_not_told() -> None:
    async with talking(echo) as talk:
        await talk.send(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na")

        assert (await talk.read(b">")).startswith(b"HTTP/1.1 200 OK")


async def test_an_app_learns_that_its_client_has_gone() -> None:
    learned: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def wait(_scope: Scope, receive: Receive, send: Send) -> None:
        assert (await receive())["type"] == "http.request"
        learned.set_result((await receive())["type"])
        await answer(send, b"to nobody")

    async with talking(wait) as talk:
        await talk.send(GET)
        await asyncio.sleep(0.05)
        talk.writer.close()

        assert await asyncio.wait_for(learned, 60) == "http.disconnect"


async def test_an_app_that_reads_on_after_its_answer_learns_that_it_is_over() -> None:
    learned: list[str] = []

    async def ask_on(_scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"<>")
        learned.append((await receive())["type"])

    async with talking(ask_on) as talk:
        await talk.send(GET)
        await talk.read(b">")
        await talk.send(LAST)
        await talk.read_to_the_end()

    assert learned == ["http.disconnect"] * 2


@pytest.mark.rest("waits for seconds")
async def test_an_idle_connection_is_kept_for_a_while_and_ended_without_a_word() -> None:
    async with talking(tell_path, ConnectionLimits(head_seconds=0.5, keep_alive_seconds=2.5)) as talk:
        for pause in (1, 0):
            await talk.send(GET)
            await talk.read(b">")
            # Idle is not late: the time for a head begins with its first byte.
            await asyncio.sleep(pause)

        assert await talk.read_to_the_end() == b""


@pytest.mark.rest("waits for seconds")
async def test_a_slow_app_is_waited_for() -> None:
    async def slow(_scope: Scope, _receive: Receive, send: Send) -> None:
        await asyncio.sleep(1)
        await answer(send, b"<>")

    async with talking(slow, ConnectionLimits(body_seconds=0.1, send_seconds=0.1)) as talk:
        await talk.send(GET)

        assert await talk.read(b">")


async def test_a_server_that_ends_answers_what_it_has_begun() -> None:
    begun = asyncio.Event()

    async def slow(_scope: Scope, _receive: Receive, send: Send) -> None:
        begun.set()
        await asyncio.sleep(0.3)
        await answer(send, b"<done>")

    async with talking(slow) as talk:
        await talk.send(GET)
        await begun.wait()
    told = await talk.read_to_the_end()

    assert told.endswith(b"<done>")
    assert b"connection: close\r\n" in told


async def test_a_server_that_ends_does_not_wait_for_the_idle() -> None:
    async with talking(tell_path) as talk:
        await talk.send(GET)
        await talk.read(b">")

    assert await talk.read_to_the_end() == b""
