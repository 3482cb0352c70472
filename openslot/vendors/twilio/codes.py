"""What Twilio's words and numbers mean: statuses of messages and calls, and codes of faults."""

from openslot.domains.messaging.models import CallProgress, DeliveryStatus, RefusalReason

# https://www.twilio.com/docs/api/errors
REASONS = {
    21610: RefusalReason.OPTED_OUT,
    21211: RefusalReason.INVALID_NUMBER,
    21614: RefusalReason.INVALID_NUMBER,
    21635: RefusalReason.INVALID_NUMBER,  # a landline
    30005: RefusalReason.INVALID_NUMBER,  # unknown, or out of service
    30006: RefusalReason.INVALID_NUMBER,  # a landline, or a carrier that can't be reached
    63003: RefusalReason.INVALID_NUMBER,  # not on WhatsApp
    63024: RefusalReason.INVALID_NUMBER,
    20003: RefusalReason.NOT_ALLOWED,
    20005: RefusalReason.NOT_ALLOWED,  # the account is not active
    20008: RefusalReason.NOT_ALLOWED,  # credentials for tests
    21408: RefusalReason.NOT_ALLOWED,  # the country is not switched on
    21606: RefusalReason.NOT_ALLOWED,  # the sender can't send
    21608: RefusalReason.NOT_ALLOWED,  # a trial account, and the recipient is not verified
    21612: RefusalReason.NOT_ALLOWED,  # no way from this sender to this recipient
    21659: RefusalReason.NOT_ALLOWED,  # the sender is not a number of Twilio's
    21660: RefusalReason.NOT_ALLOWED,  # the sender belongs to another account
    30002: RefusalReason.NOT_ALLOWED,  # the account is suspended
    30007: RefusalReason.NOT_ALLOWED,  # filtered by a carrier
    30032: RefusalReason.NOT_ALLOWED,  # a toll-free sender that is not verified
    30034: RefusalReason.NOT_ALLOWED,  # a sender in the USA that is not registered
    63007: RefusalReason.NOT_ALLOWED,  # the sender is not on WhatsApp
    63016: RefusalReason.OUTSIDE_WINDOW,
}
# Too many requests, a full queue of the sender, and a message that is still on its way.
BUSY_CODES = frozenset({20429, 21611, 14107, 20009})

STATUSES = {
    "accepted": DeliveryStatus.QUEUED,
    "scheduled": DeliveryStatus.QUEUED,
    "queued": DeliveryStatus.QUEUED,
    "sending": DeliveryStatus.SENDING,
    "sent": DeliveryStatus.SENT,
    "partially_delivered": DeliveryStatus.SENT,
    "delivered": DeliveryStatus.DELIVERED,
    "read": DeliveryStatus.READ,
    "undelivered": DeliveryStatus.UNDELIVERED,
    "failed": DeliveryStatus.FAILED,
    "canceled": DeliveryStatus.CANCELED,
}

CALL_STATUSES = {
    "queued": CallProgress.QUEUED,
    "initiated": CallProgress.QUEUED,
    "ringing": CallProgress.RINGING,
    "in-progress": CallProgress.IN_PROGRESS,
    "completed": CallProgress.COMPLETED,
    "busy": CallProgress.BUSY,
    "no-answer": CallProgress.NO_ANSWER,
    "failed": CallProgress.FAILED,
    "canceled": CallProgress.CANCELED,
}


def find_reason(code: int | None) -> RefusalReason:
    return REASONS.get(code, RefusalReason.OTHER) if code is not None else RefusalReason.OTHER
