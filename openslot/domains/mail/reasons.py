"""Why an email is not sent."""

from openslot.platform.i18n import CodedReason

OVER = CodedReason("mail.over", "the meeting is over")
NO_HOST = CodedReason("mail.no_host", "the account is deleted", said="the host's account is deleted")
HOST_GONE = CodedReason("mail.host_gone", "the account is deleted", said="the host is gone")
UNWANTED = CodedReason(
    "mail.unwanted", "you have turned these emails off", said="the host has switched these mails off"
)
CANCELLED = CodedReason("mail.cancelled", "the booking is cancelled")
MOVED = CodedReason("mail.moved", "the booking was rescheduled")
HANDED_OVER = CodedReason("mail.handed_over", "the booking was handed over to another host")
NO_SHOW = CodedReason("mail.no_show", "the invitee did not come")
SWITCHED_OFF = CodedReason("mail.switched_off", "reminders are switched off")
LAPSED = CodedReason("mail.lapsed", "it has expired", said="the request has lapsed")
LIMIT = CodedReason("mail.limit", "a limit of emails is reached", said="%(limit)s")

OPTED_OUT = CodedReason("mail.opted_out", "the recipient has unsubscribed")
NOT_KEPT = CodedReason("mail.not_kept", "the email is no longer kept")
SENT_BEFORE = CodedReason("mail.sent_before", "it is no longer needed", said="the email was sent before")

DELETED = CodedReason("mail.deleted", "the account is deleted")
CLOSED = CodedReason("mail.closed", "the account is closed")
SAME_ADDRESS = CodedReason("mail.same_address", "it is no longer needed", said="the address is the same")
NOT_WAITING = CodedReason(
    "mail.not_waiting",
    "it is no longer needed",
    said="the change was confirmed, withdrawn or replaced by another",
)
EXPIRED = CodedReason("mail.expired", "it has expired", said="the link has expired")
CODE_EXPIRED = CodedReason("mail.code_expired", "it has expired", said="the code has expired")
SIGN_UP_OVER = CodedReason("mail.sign_up_over", "it has expired", said="the sign-up is no longer valid")
INVITATION_OVER = CodedReason("mail.invitation_over", "it has expired", said="the invitation is no longer valid")
ENOUGH_LINKS = CodedReason(
    "mail.enough_links",
    "a limit of emails is reached",
    said="the address was sent as many links as allowed",
)
NOTHING_HELD = CodedReason(
    "mail.nothing_held",
    "it is no longer needed",
    said="no departure waits, or the administrator is gone",
)
NO_ADMINISTRATOR = CodedReason(
    "mail.no_administrator", "the account is deleted", said="the administrator's account is deleted"
)
DECIDED = CodedReason("mail.decided", "it is no longer needed", said="the request was decided, or its time is over")
NOT_LISTED = CodedReason("mail.not_listed", "it is no longer needed", said="it is not on the wait list any more")
OFFER_ENDED = CodedReason("mail.offer_ended", "it has expired", said="the offer has ended")
