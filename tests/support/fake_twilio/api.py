"""Twilio's REST API over an account: who asks, what they say, what they get."""

import base64
import inspect
import json
from typing import Any

from twilio.rest.api.v2010.account.message import MessageList

from tests.support.fake_server import Answer, Request
from tests.support.fake_twilio.account import FINAL, FakeAccount, FakeMessage
from tests.support.fake_twilio.errors import TwilioRefusal, missing

PAGE = 50


def _list_parameters(verb: Any) -> set[str]:
    """Read the names of parameters from Twilio's own library, as they are written on the wire."""
    names = {name for name in inspect.signature(verb).parameters if name not in {"self", "limit", "page_size"}}
    return {"".join(part.capitalize() for part in name.split("_")) for name in names}


SENT_PARAMETERS = _list_parameters(MessageList.create)
LISTED_PARAMETERS = (_list_parameters(MessageList.list) - {"DateSentBefore", "DateSentAfter"}) | {
    "DateSent<",
    "DateSent>",
    "PageSize",
}


def is_allowed(account: FakeAccount, request: Request) -> bool:
    given = base64.b64decode(request.headers.get("authorization", "").removeprefix("Basic ")).decode()
    return given in {f"{account.sid}:{token}" for token in (account.token, account.second_token) if token}


def answer(account: FakeAccount, request: Request, *, media_url: str) -> Answer:
    """Carry a request out, or refuse it."""
    if not is_allowed(account, request):
        return TwilioRefusal(401, 20003, "Authenticate").answer
    try:
        return _answer(account, request, media_url)
    except TwilioRefusal as refusal:
        return refusal.answer


def _answer(account: FakeAccount, request: Request, media_url: str) -> Answer:
    place, method = request.place, request.method
    if (method, place) == ("GET", ".json"):
        return _write({"sid": account.sid, "friendly_name": account.name, "status": account.status})
    if (method, place) == ("GET", "IncomingPhoneNumbers.json"):
        return _list_numbers(account, _read(request, {"PhoneNumber", "PageSize"}))
    if (method, place) == ("POST", "Messages.json"):
        form = _read(request, SENT_PARAMETERS)
        if "To" not in form:
            raise TwilioRefusal(400, 21604, "A 'To' phone number is required.")
        return _write(account.show(account.send(form)), status=201)
    if (method, place) == ("GET", "Messages.json"):
        return _list_messages(account, _read(request, LISTED_PARAMETERS))
    file = place.removesuffix(".mp3")
    if file in account.files and method == "GET":
        return _show_file(account, file) if file != place else _lead_to(f"{media_url}/{place}?signature=1")
    return _answer_message(account, method, place)


def _lead_to(url: str) -> Answer:
    return Answer(307, b"", {"Location": url})


def _answer_message(account: FakeAccount, method: str, place: str) -> Answer:
    path = place.removesuffix(".json")
    if method == "DELETE" and path in account.files:
        del account.files[path]
        return Answer(204, b"")
    sid = path.split("/")[1] if path.startswith("Messages/") else ""
    message = account.messages.get(sid)
    if message is None:
        raise missing(place)
    if (method, path) == ("GET", f"Messages/{sid}/Media"):
        found = [each.rpartition("/")[2] for each in account.files if each.startswith(f"{path}/")]
        return _write({"media_list": [{"sid": each, "parent_sid": sid} for each in found]})
    if (method, path) == ("GET", f"Messages/{sid}"):
        return _write(account.show(message))
    if (method, path) == ("DELETE", f"Messages/{sid}"):
        if message.status not in FINAL:
            raise TwilioRefusal(409, 20009, f"Cannot delete message because delivery of {sid} is not completed")
        del account.messages[sid]
        return Answer(204, b"")
    raise missing(place)


def _show_file(account: FakeAccount, place: str) -> Answer:
    file = account.files[place]
    return Answer(200, file.content, {"Content-Type": file.content_type})


def show_stored_file(account: FakeAccount, request: Request, place: str) -> Answer:
    """Answer as the store of files does, to whom the address alone is enough, and a token too much."""
    if "authorization" in request.headers:
        return Answer(400, b"Only one auth mechanism allowed", {"Content-Type": "application/xml"})
    return _show_file(account, place) if place in account.files else Answer(404, b"")


def _list_numbers(account: FakeAccount, asked: dict[str, str]) -> Answer:
    """Find by part of a number, as Twilio does."""
    part = asked.get("PhoneNumber", "")
    found = [{"phone_number": each, "capabilities": can} for each, can in account.numbers.items() if part in each]
    return _write({"incoming_phone_numbers": found})


def _list_messages(account: FakeAccount, asked: dict[str, str]) -> Answer:
    """List the newest first; a message that has not left has no date, so a list by date does not have it."""
    found = [each for each in account.messages.values() if _is_listed(each, asked)]
    found.sort(key=lambda each: (each.sent_at or each.created_at, each.sid), reverse=True)
    return _write({"messages": [account.show(each) for each in found[: int(asked.get("PageSize", PAGE))]]})


def _is_listed(message: FakeMessage, asked: dict[str, str]) -> bool:
    wanted = (("To", message.recipient), ("From", message.sender))
    if any(asked.get(name, value) != value for name, value in wanted):
        return False
    since = asked.get("DateSent>")
    return since is None or (message.sent_at is not None and message.sent_at.strftime("%Y-%m-%d") >= since[:10])


def _read(request: Request, known: set[str]) -> dict[str, str]:
    sent = dict(request.pairs)
    unknown = sorted(sent.keys() - known)
    if unknown:
        raise TwilioRefusal(400, 20001, f"Unknown parameter: {unknown[0]}")
    return sent


def _write(told: Any, *, status: int = 200) -> Answer:
    return Answer(status, json.dumps(told).encode(), {"Content-Type": "application/json"})
