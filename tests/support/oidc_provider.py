"""An identity provider on loopback that speaks OpenID Connect over HTTP, honestly or with one hostile trait."""

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from openslot.platform.core.work import Clock

CLIENT_ID, CLIENT_SECRET = "openslot-tests", "the client's secret / with + signs"
Answer = tuple[int, dict[str, str], bytes]


@cache
def make_key(kid: str) -> RSAKey:
    """Make a key for signatures, once for all tests: it takes longer than most of them."""
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig"}, auto_kid=False)


class FakeProvider:
    """Discovery, authorization, token, keys and userinfo; `change_claims` and `sign` make it lie."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.host, self.port = "127.0.0.1", 0
        self.keys: list[RSAKey | ECKey] = [make_key("first")]
        self.published: list[dict[str, Any]] | None = None
        self.person: dict[str, Any] = {
            "sub": "person-1",
            "email": "mara@lindqvist.example",
            "email_verified": True,
            "name": "Mara Lindqvist",
        }
        self.userinfo: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.change_claims: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
        self.sign: Callable[[dict[str, Any]], str] = self.sign_with_key
        self.answers: dict[str, Answer | None] = {}
        self.asked: list[str] = []
        self.sends_to = ""
        """Where the service listens, which a test's settings do not know."""
        self._codes: dict[str, dict[str, str]] = {}

    @property
    def issuer(self) -> str:
        """Who it is."""
        return f"http://{self.host}:{self.port}/realms/main"

    def authorize(self, url: str) -> str:
        """Be the person's browser at the provider: sign in and come back to the address with a code."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert url.startswith(f"{self.issuer}/authorize?")
        assert query["client_id"] == CLIENT_ID
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        assert "openid" in query["scope"].split()
        code = secrets.token_urlsafe(16)
        self._codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state'], 'iss': self.issuer})}"

    def sign_with_key(self, claims: dict[str, Any]) -> str:
        """Sign as a provider does."""
        key = self.keys[-1]
        algorithm = "ES256" if isinstance(key, ECKey) else "RS256"
        return jwt.encode({"alg": algorithm, "kid": key.kid}, claims, key)

    def sign_with_nothing(self, claims: dict[str, Any]) -> str:
        """Write a token that nobody has signed."""
        return f"{_packed({'alg': 'none', 'typ': 'JWT'})}.{_packed(claims)}."

    def sign_with_public_key(self, claims: dict[str, Any]) -> str:
        """Sign with HS256, and the public key as the secret that both sides know."""
        signed = f"{_packed({'alg': 'HS256', 'kid': 'first'})}.{_packed(claims)}"
        digest = hmac.digest(self.keys[0].as_pem(private=False), signed.encode(), "sha256")
        return f"{signed}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"

    async def serve(self, path: str, headers: dict[str, str], body: str) -> Answer | None:
        """Answer one request; None: say nothing."""
        name = path.rpartition("/")[2].partition("?")[0]
        self.asked.append(name)
        if name in self.answers:
            return self.answers[name]
        return self._send_back(path) if name == "authorize" else self._serve(name, headers, body)

    def _send_back(self, path: str) -> Answer:
        """Send a real browser back at once: the person is signed in there already."""
        back = urlsplit(self.authorize(f"http://127.0.0.1:{self.port}{path}"))
        return 302, {"Location": f"{self.sends_to}{back.path}?{back.query}"}, b""

    def _serve(self, name: str, headers: dict[str, str], body: str) -> Answer:
        match name:
            case "openid-configuration":
                return _json(self._describe())
            case "keys":
                shown = self.published or [key.as_dict(private=False) for key in self.keys]
                return _json({"keys": [{"kty": "unheard-of"}, *shown]})
            case "token":
                return self._exchange(headers, {k: v[0] for k, v in parse_qs(body).items()})
            case "userinfo" if headers.get("authorization") == "Bearer the-access-token":
                return _json(self.userinfo)
        return _json({"error": "not_found"}, status=404)

    def _describe(self) -> dict[str, Any]:
        endpoints = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "jwks_uri": "keys",
            "userinfo_endpoint": "userinfo",
        }
        return {
            "issuer": self.issuer,
            **{name: f"{self.issuer}/{path}" for name, path in endpoints.items()},
            "response_types_supported": ["code"],
            **self.metadata,
        }

    def _exchange(self, headers: dict[str, str], sent: dict[str, str]) -> Answer:
        asked = self._codes.pop(sent.get("code", ""), None)
        verifier = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).decode().rstrip("=")
        if not self._is_client(headers, sent):
            return _json({"error": "invalid_client"}, status=401)
        if asked is None or asked["code_challenge"] != challenge or asked["redirect_uri"] != sent.get("redirect_uri"):
            return _json({"error": "invalid_grant"}, status=400)
        now = int(self.clock().timestamp())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            **self.person,
        }
        token = self.sign(self.change_claims(claims))
        return _json({"access_token": "the-access-token", "token_type": "Bearer", "id_token": token})

    def _is_client(self, headers: dict[str, str], sent: dict[str, str]) -> bool:
        if "client_secret_post" in self.metadata.get("token_endpoint_auth_methods_supported", ()):
            return (sent.get("client_id"), sent.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET)
        basic = base64.b64decode(headers.get("authorization", "").removeprefix("Basic ")).decode()
        return basic == f"{CLIENT_ID}:{CLIENT_SECRET}"

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one request over a connection."""
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._answer(reader, writer)
                writer.close()
                await writer.wait_closed()
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
        answer = await self.serve(first.split()[1], headers, body)
        if answer is None:
            await asyncio.sleep(3600)
            return
        status, more, content = answer
        told = {"Content-Length": str(len(content)), "Connection": "close", **more}
        said = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in told.items())]
        writer.write("\r\n".join(said).encode() + b"\r\n\r\n" + content)
        await writer.drain()


def _json(body: object, *, status: int = 200) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(body).encode()


def _packed(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


@asynccontextmanager
async def providing(clock: Clock) -> AsyncIterator[FakeProvider]:
    """Run a provider on a free port."""
    provider = FakeProvider(clock)
    meetings: set[asyncio.Task[None]] = set()

    def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(provider.meet(reader, writer))
        meetings.add(task)
        task.add_done_callback(meetings.discard)

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    provider.port = server.sockets[0].getsockname()[1]
    try:
        yield provider
    finally:
        server.close()
        for task in tuple(meetings):
            task.cancel()
        await asyncio.gather(*meetings, return_exceptions=True)
