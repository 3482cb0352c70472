"""What Google refuses, in the form of its API."""

import json

from tests.support.fake_server import Answer


class GoogleRefusal(Exception):
    """A refusal with its status and its reason."""

    def __init__(self, status: int, reason: str, message: str = "refused") -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.answer = refuse(status, reason, message)


def refuse(status: int, reason: str, message: str = "refused") -> Answer:
    """Write a refusal as the API does."""
    errors = [{"domain": "global", "reason": reason, "message": message}]
    body = {"error": {"code": status, "message": message, "errors": errors}}
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json; charset=UTF-8"})
