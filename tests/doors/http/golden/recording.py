"""Answers in one line each: refusals in full, of everything else what a caller would notice first."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

from openslot.app import list_api
from openslot.domains.webhooks.schemas import WEBHOOKS
from openslot.doors.http.openapi import describe
from openslot.platform.core.config import Settings
from openslot.platform.core.environment import load_settings
from tests.doors.http.golden.asgi import Sent
from tests.doors.http.golden.cases import read_case
from tests.doors.http.golden.installation import opening

ANSWERS = Path(__file__).parent / "answers.txt"
DESCRIPTION = Path(__file__).parent / "openapi.json"
LONGEST = 300
SPOKEN = re.compile(r"<h1[^>]*>(.*?)</h1>|class=\"fault\"[^>]*>(.*?)</p>|role=\"alert\">(.*?)</p>", re.DOTALL)


async def list_answers(settings: Settings) -> AsyncIterator[str]:
    """Ask all that was recorded, and tell each request with its answer."""
    cases = [read_case(line) for line in ANSWERS.read_text("utf-8").splitlines()]
    async with opening(settings) as installation:
        for case in cases:
            sent = await installation.ask(case)
            yield f"{sent.status} {case.text} → {short(installation.steady(summarize(sent)))}"


def read_description() -> str:
    """Write the API's description for reading."""
    description = describe(list_api(load_settings({}, environ={})), WEBHOOKS, "http://127.0.0.1:8000")
    return json.dumps(description, indent=1, ensure_ascii=False) + "\n"


def summarize(sent: Sent) -> str:
    """Tell what an answer says."""
    headers, text = dict(sent.headers), sent.body.decode("utf-8", "replace")
    kind = headers.get("content-type", "").partition(";")[0]
    if "location" in headers:
        return f"to {headers['location']}"
    if kind == "text/html":
        return " | ".join(" ".join(next(filter(None, found)).split()) for found in SPOKEN.findall(text)) or kind
    if kind == "application/json" and text:
        told = json.loads(text)
        return text if "error" in told else " ".join(told)
    return kind or headers.get("allow", "")


def short(text: str) -> str:
    """Keep a line that can be read."""
    line = text.encode("unicode_escape").decode().replace("\\\\", "\\")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
