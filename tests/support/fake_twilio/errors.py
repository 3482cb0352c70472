"""How Twilio refuses a request."""

import json

from tests.support.fake_server import Answer


class TwilioRefusal(Exception):
    """An answer with a status of 400 or above, in Twilio's shape; its message repeats what was sent, as theirs do."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code

    @property
    def answer(self) -> Answer:
        more = f"https://www.twilio.com/docs/errors/{self.code}"
        told = {"code": self.code, "message": str(self), "more_info": more, "status": self.status}
        return Answer(self.status, json.dumps(told).encode(), {"Content-Type": "application/json"})


def missing(path: str) -> TwilioRefusal:
    return TwilioRefusal(404, 20404, f"The requested resource {path} was not found")
