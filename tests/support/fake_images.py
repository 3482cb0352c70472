"""An images endpoint in the shape of OpenAI's: makes pictures, sends them or an address, and fails when told."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.support.fake_server import Answer, Fault, Request, fail, listening

KEY = "sk-test-images"
SECRET_TEXT = "made in the cellar of the provider"


class FakeImages:
    """One account at the provider; `made` is what its bill will say."""

    def __init__(self) -> None:
        self.url = ""
        self.made = 0
        self.by_url = False
        self.faults: list[Fault] = []
        self.asked: list[Request] = []
        self.picture: bytes | None = None
        """What is sent in place of a picture."""

    async def serve(self, request: Request) -> Answer | None:
        self.asked.append(request)
        if self.faults and self.faults[0].concerns(request):
            return await fail(self.faults.pop(0), lambda: self._answer(request))
        return self._answer(request)

    def _answer(self, request: Request) -> Answer:
        if request.place.startswith("files/"):
            return Answer(200, self._draw("1024x1024"), {"Content-Type": "image/png"})
        if request.place != "images/generations":
            return Answer(404, b"{}")
        if request.key != KEY:
            return _refuse(401, "invalid_api_key", f"Incorrect API key provided: {request.key}")
        asked: dict[str, Any] = json.loads(request.body)
        if set(asked) != {"model", "prompt", "size", "n"}:
            return _refuse(400, "unknown_parameter", f"Unknown parameter in {sorted(asked)}")
        if "forbidden" in asked["prompt"]:
            return _refuse(400, "moderation_blocked", "Your request was rejected by the safety system.")
        self.made += 1
        image = (
            {"url": f"{self.url}/files/{self.made}.png"}
            if self.by_url
            else {"b64_json": b64encode(self._draw(asked["size"])).decode()}
        )
        return Answer(200, json.dumps({"created": 1, "data": [image], "usage": {"total_tokens": 9}}).encode())

    def _draw(self, size: str) -> bytes:
        if self.picture is not None:
            return self.picture
        width, height = map(int, size.split("x"))
        return draw(width, height)


def draw(width: int, height: int, kind: str = "PNG") -> bytes:
    """Draw a picture that has metadata."""
    told = PngInfo()
    told.add_text("Comment", SECRET_TEXT)
    written = BytesIO()
    Image.new("RGB", (width, height), (200, 30, 90)).save(written, kind, pnginfo=told, comment=SECRET_TEXT.encode())
    return written.getvalue()


def _refuse(status: int, code: str, message: str) -> Answer:
    return Answer(status, json.dumps({"error": {"message": message, "type": "x", "code": code}}).encode())


@asynccontextmanager
async def fake_images() -> AsyncIterator[FakeImages]:
    fake = FakeImages()
    async with listening(fake.serve) as url:
        fake.url = f"{url}/v1"
        yield fake
