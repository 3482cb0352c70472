"""The requests: every route with every method, and every way in which a path, a query or a body can be wrong."""

import json
from collections.abc import Iterator
from urllib.parse import urlencode

from msgspec import Struct

from tests.http.golden.parts import (
    BODIES,
    BOOKING,
    FORM_VALUES,
    FORMS,
    HOLD,
    IDS,
    NOBODY,
    NOWHERE,
    ORIGINS,
    PAGES,
    PAIRS,
    PUBLIC,
    PUBLIC_BOOKING,
    QUERIES,
    RAW,
    RESCHEDULE,
    REST,
    SERVICE,
    TEXTS,
    TYPES,
    UNREADABLE,
    VALUES,
)

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND")


class Case(Struct, frozen=True, kw_only=True):
    """One request; words between angle brackets stand for what the scene knows."""

    method: str
    target: str
    who: str = ""
    headers: dict[str, str] = {}
    body: bytes = b""

    def __str__(self) -> str:
        shown = self.body[:200].decode("utf-8", "backslashreplace").replace("\n", "\\n").replace("\r", "\\r")
        more = f"…{len(self.body)}" if len(self.body) > 200 else ""
        parts = [self.method, self.target if len(self.target) < 300 else f"{self.target[:300]}…{len(self.target)}"]
        parts += [f"by={self.who}"] if self.who else []
        parts += [f"{name}={value}" for name, value in self.headers.items() if value not in {JSON, FORM}]
        whole = " ".join((*parts, *([f"body={shown}{more}"] if self.body else [])))
        return whole.replace("\0", "\\0").replace(NOBODY, "<nobody>")


def all_cases() -> Iterator[Case]:
    """List every request, in the order in which they are sent."""
    for group in (_methods, _paths, _hosts, _raw_bodies, _fields, _queries, _ids, _pages, _reads, _changes):
        yield from group()


def _methods() -> Iterator[Case]:
    for path in (*REST, *PUBLIC, *SERVICE, *PAGES, *NOWHERE):
        for method in METHODS:
            if not path.startswith("/api/v1") or method in {"GET", "OPTIONS"}:
                yield Case(method=method, target=path)
            if path.startswith("/api/v1"):
                yield Case(method=method, target=path, who="key")
            elif path in PAGES and path != "/logout":
                yield Case(method=method, target=path, who="session")
    yield Case(method="-", target="/api/v1/me", who="key")
    yield Case(method="-", target="/login")


def _paths() -> Iterator[Case]:
    for path in (*REST[:2], *PUBLIC[:2], *SERVICE[:1], *PAGES[1:4:2], *PAGES[-3:-1]):
        first = path.lstrip("/")[:1]
        ways = (
            f"{path}/",
            f"{path}//",
            f"/{path}",
            path.replace("/", "//"),
            f"/%{ord(first):x}{path[2:]}" if first else "//",
            path.replace("/api/", "/api%2F"),
            path.upper(),
            f"{path}/.",
            f"/.{path}",
            f"/x/..{path}",
            f"{path};a=b",
            f"{path}%00",
            f"{path}%20",
            f"{path}%3Fa",
            f"{path}#x",
        )
        who = "key" if path.startswith("/api/v1") else "session" if path in PAGES and path != "/logout" else ""
        yield from (Case(method="GET", target=way, who=who) for way in ways)
        yield Case(method="POST", target=f"{path}/", who=who)
        yield Case(method="OPTIONS", target=f"{path}/")
    yield from (Case(method="GET", target=target) for target in ("", "*", "?", "//", "///", "/?a=b", "/%2F", "/%2e%2e"))


def _hosts() -> Iterator[Case]:
    for host in ("", "x", "a b", "\xff\xfe", "[::1]:8000", "<b>"):
        for path, who in (("/api/v1/me", "key"), ("/api/public/mara", ""), ("/login", ""), ("/healthz", "")):
            yield Case(method="GET", target=path, who=who, headers={"host": host})
            yield Case(method="OPTIONS", target=path, headers={"host": host})
        yield Case(method="GET", target="/nowhere", headers={"host": host})
        yield Case(method="POST", target="/login", headers={"host": host})


def _raw_bodies() -> Iterator[Case]:
    for method, path, who, sound in BODIES:
        for body in (b"", *RAW):
            yield Case(method=method, target=path, who=who, headers={"content-type": JSON}, body=body)
        for media_type in TYPES:
            headers = {"content-type": media_type} if media_type else {}
            yield Case(method=method, target=path, who=who, headers=headers, body=b'{"x": 1}')
        packed = {"content-type": JSON, "content-encoding": "gzip"}
        yield Case(method=method, target=path, who=who, headers=packed, body=b"\x1f\x8b")
        same = {"content-type": JSON, "content-length": "99999999999"}
        yield Case(method=method, target=path, who=who, headers=same, body=b"{}")
        del sound
    yield Case(method="POST", target="/api/v1/me", who="key", headers={"content-type": "text/plain"}, body=b"x")
    yield Case(
        method="DELETE", target=f"/api/v1/contacts/{NOBODY}", who="key", headers={"content-type": JSON}, body=b"{"
    )
    yield Case(method="GET", target="/api/v1/me", who="key", headers={"content-type": "text/plain"}, body=b"\xff")


def _fields() -> Iterator[Case]:
    for method, path, who, sound in BODIES:
        for field in sound:
            without = {name: value for name, value in sound.items() if name != field}
            for body in (without, *({**sound, field: value} for value in VALUES)):
                yield _json(method, path, who, body)
        yield _json(method, path, who, dict.fromkeys(sound, 5))
        yield _json(method, path, who, dict.fromkeys(sound, "\0"))


def _json(method: str, path: str, who: str, body: object, **headers: str) -> Case:
    return Case(
        method=method,
        target=path,
        who=who,
        headers={"content-type": JSON, **headers},
        body=json.dumps(body, ensure_ascii=False).encode(),
    )


def _queries() -> Iterator[Case]:
    for path, who, names in QUERIES:
        glue = "&" if "?" in path else "?"
        for name in names:
            yield from (Case(method="GET", target=f"{path}{glue}{name}={text}", who=who) for text in TEXTS)
            yield Case(method="GET", target=f"{path}{glue}{name}", who=who)
            yield Case(method="GET", target=f"{path}{glue}{name}=1&{name}=2", who=who)
        yield from (Case(method="GET", target=f"{path}{glue}{pair}", who=who) for pair in PAIRS)
    yield Case(method="GET", target="/api/v1/bookings?status=\xff", who="key")
    yield Case(method="GET", target="/api/v1/contacts?search=\xc3\xa9", who="key")
    yield Case(method="POST", target="/api/v1/contacts?page=x", who="key", headers={"content-type": JSON}, body=b"{}")


def _ids() -> Iterator[Case]:
    ids = (*IDS, "<foreign-booking>", "<foreign-contact>", "<foreign-event-type>")
    for each in ids:
        for path in ("bookings", "contacts", "event-types", "availability"):
            yield Case(method="GET", target=f"/api/v1/{path}/{each}", who="key")
        yield _json("POST", f"/api/v1/bookings/{each}/cancel", "key", {})
        yield _json("PATCH", f"/api/v1/bookings/{each}/reschedule", "key", RESCHEDULE)
        yield _json("PATCH", f"/api/v1/contacts/{each}", "key", {"name": "x"})
        yield Case(method="DELETE", target=f"/api/v1/contacts/{each}", who="key")
        yield Case(method="DELETE", target=f"/api/public/holds/{each}")
        yield Case(method="GET", target=f"/api/public/{each}")
        yield Case(method="GET", target=f"/api/public/mara/{each}")
        yield Case(method="GET", target=f"/api/public/manage/{each}")
        yield Case(method="GET", target=f"/account/keys/{each}/revoke", who="session")
        yield Case(method="POST", target=f"/account/keys/{each}/revoke", who="session")
        yield Case(method="GET", target=f"/static/{each}")
    for key in ("", "Basic x", "Bearer", "Bearer ", "Bearer x", "bearer <key>", "Bearer  <key> ", "Token <key>"):
        yield Case(method="GET", target="/api/v1/me", headers={"authorization": key})


def _pages() -> Iterator[Case]:
    for path, who, sound in FORMS:
        fields = ({**sound, name: value} for name in sound for value in FORM_VALUES if _is_refused(path, name, value))
        without = ({other: sound[other] for other in sound if other != name} for name in sound)
        for values in (*fields, *without, {}, {**sound, "form": "x", "name": ""}):
            yield _form(path, who, urlencode(values).encode())
        yield from (_form(path, who, body) for body in UNREADABLE)
        yield from (
            Case(method="POST", target=path, who=who, headers={"content-type": kind}, body=b"a=b") for kind in TYPES
        )
        yield from (_form(path, who, b"", **origin) for origin in ORIGINS)
    for query in (
        "next=/account",
        "next=//evil.example",
        "next=%ff",
        "next=%00",
        "next",
        "&&&",
        "a=1&" * 100,
        "next=a&next=/b",
    ):
        yield Case(method="GET", target=f"/login?{query}")
        yield Case(method="GET", target=f"/login?{query}", who="session")
    for query in ("token=", "token=x", "token=%00", "token=%ff", "token=<setup>", "token=a&token=<setup>"):
        yield Case(method="GET", target=f"/setup?{query}")
    for done in ("password", "revoked", "x", ""):
        yield Case(method="GET", target=f"/account?done={done}", who="session")
    for path in (
        "openslot.css",
        "copy.js",
        "favicon.svg",
        "robots.txt",
        "openslot.css?v=old",
        "../pages.py",
        "%2e%2e/pages.py",
    ):
        yield Case(method="GET", target=f"/static/{path}")
        yield Case(method="GET", target=f"/static/{path}", headers={"if-none-match": "*"})
    for cookie in (
        "openslot_session=x",
        'a={"b": [1]}; =; ;@@; openslot_session=<session>; z',
        "openslot_session=",
        "\xff=\xfe",
    ):
        yield Case(method="GET", target="/account", headers={"cookie": cookie})


def _is_refused(path: str, name: str, value: str) -> bool:
    """Leave out what would change something, or what takes the time of a password."""
    if path == "/login":
        return name != "next" and (not value.strip() or len(value) > 254 or "\0" in value)
    return not (path == "/account/keys" and name == "name" and value.isprintable() and 0 < len(value.strip()) < 101)


def _form(path: str, who: str, body: bytes, **headers: str) -> Case:
    return Case(method="POST", target=path, who=who, headers={"content-type": FORM, **headers}, body=body)


def _reads() -> Iterator[Case]:
    for path in (
        "bookings/<booking>",
        "bookings/<cancelled>",
        "bookings/<past>",
        "contacts/<contact>",
        "event-types/<intro>",
    ):
        yield Case(method="GET", target=f"/api/v1/{path}", who="key")
        yield Case(method="HEAD", target=f"/api/v1/{path}", who="key")
    for page in range(1, 6):
        for path in ("bookings", "contacts", "event-types", "conversations", "calls", "events"):
            yield Case(method="GET", target=f"/api/v1/{path}?limit=7&page={page}", who="key")
    for slug in ("intro-call", "consultation", "group-workshop", "partner-sync", "30min"):
        yield Case(method="GET", target=f"/api/v1/availability/{slug}?timezone=Asia/Kolkata", who="key")
        yield Case(method="GET", target=f"/api/public/mara/{slug}")
        yield Case(method="GET", target=f"/api/public/mara/{slug}/slots?timezone=UTC&startDate=2026-03-20")
    yield Case(method="GET", target="/api/public/mara/partner-sync?token=<private>")
    yield Case(method="GET", target="/api/public/mara/partner-sync/slots?timezone=UTC&token=<private>")
    yield Case(method="GET", target="/api/public/manage/<manage>")
    yield Case(method="GET", target="/api/docs", who="session")


def _changes() -> Iterator[Case]:
    key = {"idempotency-key": "one"}
    yield from (
        _json("POST", "/api/v1/contacts", "key", {"name": "Noor", "email": "noor@haddad.example"}, **key) for _ in "ab"
    )
    yield _json("POST", "/api/v1/contacts", "key", {"name": "Noor", "email": "other@haddad.example"}, **key)
    yield _json("POST", "/api/v1/contacts", "key", {"name": "Noor", "email": "NOOR@haddad.example"})
    for wrong in ("", "x" * 256, "a\0b", "\xff", " "):
        yield _json("POST", "/api/v1/contacts", "key", {}, **{"idempotency-key": wrong})
    yield _json("PATCH", "/api/v1/contacts/<contact>", "key", {"company": "Haddad Design", "tags": ["a", "a", "b"]})
    yield _json("PATCH", "/api/v1/contacts/<contact>", "key", {"company": None, "phone": "+49 30 12345678"})
    yield Case(method="DELETE", target="/api/v1/contacts/<contact>", who="key")
    yield Case(method="GET", target="/api/v1/contacts/<contact>", who="key")
    for start in (
        "2026-03-17T09:00:00Z",
        "2026-03-17T09:00:00Z",
        "2026-03-17T09:07:00Z",
        "2026-03-14T09:00:00Z",
        "2027-03-17T09:00:00Z",
    ):
        yield _json("POST", "/api/v1/bookings", "key", {**BOOKING, "startTime": start})
        yield _json("POST", "/api/bookings", "", {**PUBLIC_BOOKING, "startTime": start})
    public = {**PUBLIC_BOOKING, "startTime": "2026-03-17T10:00:00Z"}
    yield from (_json("POST", "/api/bookings", "", public, **{"idempotency-key": "two"}) for _ in "ab")
    yield _json("POST", "/api/public/holds", "", {**HOLD, "startTime": "2026-03-18T10:00:00Z"})
    yield _json("POST", "/api/public/holds", "", {**HOLD, "startTime": "2026-03-18T10:00:00Z"})
    for path in ("<booking>", "<cancelled>", "<past>"):
        yield _json("PATCH", f"/api/v1/bookings/{path}/reschedule", "key", {"newStartTime": "2026-03-19T10:00:00Z"})
        yield _json("POST", f"/api/v1/bookings/{path}/cancel", "key", {"reason": "Ill"})
        yield Case(method="POST", target=f"/api/v1/bookings/{path}/cancel", who="key")
    yield _json("POST", "/api/public/manage/<manage>/reschedule", "", {"newStartTime": "2026-03-19T13:30:00Z"})
    yield Case(method="POST", target="/api/public/manage/<manage>/cancel")
    yield Case(method="GET", target="/api/public/manage/<manage>")
    yield _form("/account/keys", "session", b"name=Website&expires=30")
    yield _form("/login", "", b"email=mara%40harbor.example&password=wrong-password&next=/api/docs")
    yield _form("/login", "", b"email=mara%40harbor.example&password=<password>&next=/api/docs")
    yield _form("/login", "session", b"email=x&password=y&next=/api/docs")
    yield Case(method="POST", target="/account/keys/<api-key>/revoke", who="session")
    yield _form("/account/password", "session", b"current=wrong-password&password=a-fresh-long-password")
    yield _form("/account/password", "session", b"current=<password>&password=short")
    yield _form("/account/password", "session", b"current=<password>&password=a-fresh-long-password")
    yield Case(method="GET", target="/account", who="session")
    yield Case(method="POST", target="/logout", who="session")
