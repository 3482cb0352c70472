"""One account: its numbers, its messages and how they move on, who has opted out, files, calls."""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from openslot.platform.core.work import Clock
from tests.support.fake_twilio.errors import TwilioRefusal

SENT_AFTER = timedelta(seconds=1)
DELIVERED_AFTER = timedelta(seconds=3)
WINDOW = timedelta(hours=24)
DEFAULT_VALIDITY = 36_000
E164 = re.compile(r"\+[1-9][0-9]{6,14}")
FINAL = frozenset({"delivered", "read", "undelivered", "failed", "canceled", "received"})

Form = dict[str, str]
Notify = Callable[["FakeAccount", str, Form], None]


class FakeMessage(Struct, eq=False, kw_only=True):
    sid: str
    sender: str
    recipient: str
    body: str
    direction: str
    status: str
    created_at: datetime
    sent_at: datetime | None = None
    validity: timedelta = timedelta(seconds=DEFAULT_VALIDITY)
    status_url: str | None = None
    error_code: int | None = None
    form: Form = {}
    """As it was asked for."""
    fate: int | None = None
    """The code with which it will fail."""


class FakeFile(Struct, frozen=True):
    content: bytes
    content_type: str


class FakeAccount:
    """Messages are queued, sent and delivered as the clock says, unless a test moves them itself."""

    def __init__(self, clock: Clock, *, number: int, notify: Notify) -> None:
        self._clock = clock
        self._notify = notify
        self._number = number
        self._made = 0
        self.sid = f"AC{number:032x}"
        self.token = f"{number:032x}"
        self.second_token: str | None = None
        self.name = "Praxis Lindqvist"
        self.status = "active"
        self.numbers: dict[str, dict[str, bool]] = {"+4930111222": {"sms": True, "mms": False, "voice": True}}
        self.whatsapp_senders = {"+4930111222"}
        self.opted_out: set[str] = set()
        self.bad_numbers: set[str] = set()
        self.landlines: set[str] = set()
        self.closed_prefixes: set[str] = set()
        """Countries that are not switched on."""
        self.templates: dict[str, str] = {}
        """Texts with {{1}}, by id."""
        self.windows: dict[str, datetime] = {}
        """When each recipient on WhatsApp has written last."""
        self.is_stuck = False
        """Carriers take nothing, so messages wait until their validity is over."""
        self.messages: dict[str, FakeMessage] = {}
        self.files: dict[str, FakeFile] = {}
        """By their place below the account."""
        self.message_url: str | None = None
        self.call_url: str | None = None

    @property
    def now(self) -> datetime:
        return self._clock()

    @property
    def sent(self) -> list[FakeMessage]:
        """Every message that was asked for, oldest first."""
        return [each for each in self.messages.values() if each.direction == "outbound-api"]

    def new_sid(self, prefix: str) -> str:
        self._made += 1
        return f"{prefix}{self._number:016x}{self._made:016x}"

    def send(self, form: Form) -> FakeMessage:
        """Take a message, or refuse it as Twilio does at once."""
        kind, recipient = split(form["To"])
        self._check(kind, recipient, split(form.get("From", "")))
        body = self._write_body(form)
        message = FakeMessage(
            sid=self.new_sid("SM"),
            sender=form["From"],
            recipient=form["To"],
            body=body,
            direction="outbound-api",
            status="queued",
            created_at=self.now.replace(microsecond=0),
            validity=timedelta(seconds=_read_validity(form)),
            status_url=form.get("StatusCallback"),
            form=form,
            fate=self._foresee(kind, recipient, form),
        )
        self.messages[message.sid] = message
        return message

    def move(self, message: FakeMessage, status: str, *, code: int | None = None) -> None:
        """Give a message another status, and tell who wants to know."""
        message.status, message.error_code = status, code
        if status in {"sent", "delivered"} and message.sent_at is None:
            message.sent_at = self.now.replace(microsecond=0)
        if message.status_url is not None:
            told = {"ErrorCode": str(code)} if code else {}
            self._notify(self, message.status_url, {**self._describe(message), "MessageStatus": status, **told})

    def let_time_pass(self) -> None:
        """Move every message on, as far as the clock says."""
        for message in list(self.messages.values()):
            if message.status in FINAL:
                continue
            age = self.now - message.created_at
            if message.fate is not None and age >= SENT_AFTER:
                failed = "undelivered" if 30000 <= message.fate < 31000 else "failed"
                self.move(message, failed, code=message.fate)
            elif self.is_stuck:
                if age >= message.validity:
                    self.move(message, "failed", code=30036)
            else:
                self._advance(message, age)

    def receive(self, sender: str, body: str = "", *, recipient: str = "+4930111222", **fields: str) -> FakeMessage:
        """Let somebody write; Twilio itself understands the words that end and begin messages by SMS."""
        kind, phone = split(sender)
        message = FakeMessage(
            sid=self.new_sid("MM" if fields.get("NumMedia", "0") != "0" else "SM"),
            sender=sender,
            recipient=f"{kind}:{recipient}" if kind else recipient,
            body=body,
            direction="inbound",
            status="received",
            created_at=self.now,
            sent_at=self.now,
        )
        self.messages[message.sid] = message
        if kind:
            self.windows[phone] = self.now
        elif body.strip().upper() in {"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"}:
            self.opted_out.add(phone)
        elif body.strip().upper() in {"START", "YES", "UNSTOP"}:
            self.opted_out.discard(phone)
        if self.message_url is not None:
            form = {**self._describe(message), "Body": body, "NumMedia": "0", "NumSegments": "1", **fields}
            self._notify(self, self.message_url, form)
        return message

    def add_file(self, message_sid: str, content: bytes, content_type: str) -> str:
        """Attach a file to a message, and return its place below the account."""
        place = f"Messages/{message_sid}/Media/{self.new_sid('ME')}"
        self.files[place] = FakeFile(content, content_type)
        return place

    def add_recording(self, content: bytes) -> str:
        place = f"Recordings/{self.new_sid('RE')}"
        self.files[place] = FakeFile(content, "audio/mpeg")
        return place

    def call(self, sender: str, *statuses: str, recipient: str = "+4930111222", **fields: str) -> str:
        """Let somebody call: one notice for each status, the last one with how long it was."""
        sid = self.new_sid("CA")
        for number, status in enumerate(statuses):
            form = {
                "CallSid": sid,
                "AccountSid": self.sid,
                "From": sender,
                "To": recipient,
                "CallStatus": status,
                "Direction": "inbound",
                "Timestamp": self.now.strftime("%a, %d %b %Y %H:%M:%S +0000"),
                "SequenceNumber": str(number),
                "CallbackSource": "call-progress-events",
                "ApiVersion": "2010-04-01",
                **(fields if number == len(statuses) - 1 else {}),
            }
            if self.call_url is not None:
                self._notify(self, self.call_url, form)
        return sid

    def record(self, call_sid: str, content: bytes = b"ID3") -> str:
        """Let the recording of a call be ready, tell of it, and return its place below the account."""
        place = self.add_recording(content)
        form = {
            "CallSid": call_sid,
            "AccountSid": self.sid,
            "RecordingSid": place.rpartition("/")[2],
            "RecordingUrl": f"https://api.twilio.com/2010-04-01/Accounts/{self.sid}/{place}",
            "RecordingStatus": "completed",
            "RecordingDuration": "3",
            "RecordingChannels": "1",
            "RecordingSource": "DialVerb",
        }
        if self.call_url is not None:
            self._notify(self, self.call_url, form)
        return place

    def show(self, message: FakeMessage) -> dict[str, Any]:
        """Write a message as the API does."""
        return {
            "sid": message.sid,
            "account_sid": self.sid,
            "body": message.body,
            "from": message.sender,
            "to": message.recipient,
            "direction": message.direction,
            "status": message.status,
            "error_code": message.error_code,
            "error_message": None,
            "num_segments": "1",
            "num_media": "0",
            "price": None,
            "date_created": write_date(message.created_at),
            "date_sent": write_date(message.sent_at),
            "api_version": "2010-04-01",
        }

    def _advance(self, message: FakeMessage, age: timedelta) -> None:
        if age >= SENT_AFTER and message.status in {"queued", "sending"}:
            self.move(message, "sending")
            self.move(message, "sent")
        if age >= DELIVERED_AFTER and message.status == "sent":
            self.move(message, "delivered")

    def _check(self, kind: str, recipient: str, sender: tuple[str, str]) -> None:
        senders = self.whatsapp_senders if kind else {each for each, can in self.numbers.items() if can["sms"]}
        if sender[0] != kind or sender[1] not in senders:
            code = 63007 if kind else 21659
            raise TwilioRefusal(400, code, f"From {sender[1]} is not a Twilio phone number")
        if not E164.fullmatch(recipient) or recipient in self.bad_numbers:
            raise TwilioRefusal(400, 21211, f"Invalid 'To' Phone Number: {recipient}")
        if any(recipient.startswith(prefix) for prefix in self.closed_prefixes):
            raise TwilioRefusal(403, 21408, f"Permission to send an SMS has not been enabled for {recipient}")
        if not kind and recipient in self.opted_out:
            raise TwilioRefusal(400, 21610, f"Attempt to send to unsubscribed recipient {recipient}")

    def _write_body(self, form: Form) -> str:
        if "ContentSid" not in form:
            if not form.get("Body"):
                raise TwilioRefusal(400, 21619, "A text message body or media urls must be specified.")
            if len(form["Body"]) > 1600:
                raise TwilioRefusal(400, 21617, "The concatenated message body exceeds the 1600 character limit")
            return form["Body"]
        text = self.templates.get(form["ContentSid"])
        if text is None:
            raise TwilioRefusal(400, 21655, "The ContentSid is Invalid")
        return fill(text, form.get("ContentVariables", "{}"))

    def _foresee(self, kind: str, recipient: str, form: Form) -> int | None:
        """Tell with which code a message will fail after it was taken; None: it will not."""
        if kind and "ContentSid" not in form:
            written = self.windows.get(recipient)
            return 63016 if written is None or self.now - written > WINDOW else None
        return 30006 if recipient in self.landlines else None

    def _describe(self, message: FakeMessage) -> Form:
        told = {"MessageSid": message.sid, "SmsSid": message.sid, "AccountSid": self.sid, "ApiVersion": "2010-04-01"}
        return {**told, "From": message.sender, "To": message.recipient}


def split(address: str) -> tuple[str, str]:
    kind, _, phone = address.rpartition(":")
    return kind, phone


def fill(text: str, variables: str) -> str:
    for name, value in json.loads(variables).items():
        text = text.replace("{{" + name + "}}", value)
    return text


def write_date(at: datetime | None) -> str | None:
    return None if at is None else at.strftime("%a, %d %b %Y %H:%M:%S +0000")


def _read_validity(form: Form) -> int:
    validity = form.get("ValidityPeriod", str(DEFAULT_VALIDITY))
    if not validity.isdigit() or not 1 <= int(validity) <= DEFAULT_VALIDITY:
        raise TwilioRefusal(400, 21626, "Invalid validity period")
    return int(validity)
