"""Twilio's notices of messages and calls, read from the forms that it posts."""

import re
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from openslot.domains.calls.models import CallDirection
from openslot.domains.conversations.models import Channel
from openslot.domains.messaging.models import (
    CallNotice,
    InboundMessage,
    MediaRef,
    OptOut,
    RecordingNotice,
    StatusNotice,
)
from openslot.domains.messaging.ports import BadNotice
from openslot.vendors.twilio.codes import CALL_STATUSES, STATUSES, find_reason
from openslot.vendors.twilio.signature import read_pairs

MESSAGE = re.compile(r"(?:SM|MM)[0-9a-f]{32}", re.ASCII)
CALL = re.compile(r"CA[0-9a-f]{32}", re.ASCII)
MEDIA = re.compile(r"/Accounts/AC[0-9a-f]{32}/(Messages/(?:SM|MM)[0-9a-f]{32}/Media/ME[0-9a-f]{32})$", re.ASCII)
RECORDING_ID = re.compile(r"RE[0-9a-f]{32}", re.ASCII)
RECORDING = re.compile(r"/Accounts/AC[0-9a-f]{32}/(Recordings/RE[0-9a-f]{32})(?:\.\w+)?$", re.ASCII)
MAX_MEDIA = 10
LONGEST_NUMBER = 7

Fields = dict[str, str]


def read_form(body: bytes, *, account: str) -> Fields:
    """Read a form that was verified, the first value of each name, or refuse one of another account."""
    form: Fields = {}
    for name, value in read_pairs(body):
        form.setdefault(name, value)
    if form.get("AccountSid") != account:
        raise BadNotice("the notice is of another account")
    return form


def read_inbound(form: Fields) -> InboundMessage:
    channel, sender = _read_address(form.get("From", ""))
    return InboundMessage(
        id=_read_id(form, "MessageSid", MESSAGE),
        channel=channel,
        sender=sender,
        recipient=_read_address(form.get("To", ""))[1],
        body=form.get("Body", ""),
        media=_list_media(form),
        opt_out=OPT_OUTS.get(form.get("OptOutType", "").upper()),
        button_payload=form.get("ButtonPayload") or None,
        profile_name=form.get("ProfileName") or None,
    )


def read_status(form: Fields) -> StatusNotice | None:
    """Read what became of a message; None for a status that tells nothing of a message that we have sent."""
    id_ = _read_id(form, "MessageSid", MESSAGE)
    status = STATUSES.get(form.get("MessageStatus", ""))
    if status is None:
        return None
    code = _read_number(form.get("ErrorCode"))
    return StatusNotice(
        id=id_,
        status=status,
        code=None if code is None else str(code),
        reason=None if code is None else find_reason(code),
    )


def read_call_notice(form: Fields) -> CallNotice | RecordingNotice | None:
    """Read a notice of a call or of its recording.

    None for the second leg of a call that is forwarded, because the first one is the call.
    """
    if "RecordingSid" in form and "CallStatus" not in form:
        return read_recording(form)
    return None if form.get("ParentCallSid") else read_call(form)


def read_call(form: Fields) -> CallNotice:
    """Read how far a call has come: busy, no answer and the like arrive as a status of the last notice."""
    status = CALL_STATUSES.get(form.get("CallStatus", ""))
    if status is None:
        raise BadNotice("the status of the call is not known")
    is_inbound = form.get("Direction", "").startswith("inbound")
    seconds = _read_number(form.get("CallDuration"))
    recording = RECORDING.search(form.get("RecordingUrl", ""))
    return CallNotice(
        id=_read_id(form, "CallSid", CALL),
        sequence=_read_number(form.get("SequenceNumber")),
        sender=form.get("From", ""),
        recipient=form.get("To", ""),
        direction=CallDirection.INBOUND if is_inbound else CallDirection.OUTBOUND,
        status=status,
        duration=None if seconds is None else timedelta(seconds=seconds),
        at=_read_time(form.get("Timestamp", "")),
        recording=recording[1] if recording else None,
    )


def read_recording(form: Fields) -> RecordingNotice | None:
    """Read where the recording of a call is; None while it is made, or if there is nothing in it."""
    call_id = _read_id(form, "CallSid", CALL)
    recording_id = _read_id(form, "RecordingSid", RECORDING_ID)
    is_done = form.get("RecordingStatus") == "completed"
    return RecordingNotice(call_id=call_id, ref=f"Recordings/{recording_id}") if is_done else None


OPT_OUTS = {"STOP": OptOut.STOP, "START": OptOut.START, "HELP": OptOut.HELP}


def _read_id(form: Fields, name: str, shape: re.Pattern[str]) -> str:
    id_ = form.get(name, "")
    if not shape.fullmatch(id_):
        raise BadNotice(f"{name} is missing or malformed")
    return id_


def _read_address(address: str) -> tuple[Channel, str]:
    kind, separator, number = address.rpartition(":")
    if not number or (separator and kind != "whatsapp"):
        raise BadNotice("an address is missing, or of a channel that is not supported")
    return (Channel.WHATSAPP if separator else Channel.SMS), number


def _list_media(form: Fields) -> tuple[MediaRef, ...]:
    """List the files by their path in the account; the address that Twilio gives is not kept."""
    count = min(_read_number(form.get("NumMedia")) or 0, MAX_MEDIA)
    found = [
        (MEDIA.search(form.get(f"MediaUrl{number}", "")), form.get(f"MediaContentType{number}", ""))
        for number in range(count)
    ]
    return tuple(MediaRef(ref=path[1], content_type=kind.lower()) for path, kind in found if path)


def _read_number(text: str | None) -> int | None:
    is_number = text and text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER
    return int(text) if text and is_number else None


def _read_time(text: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return at if at.tzinfo else None
