"""Why an email is not sent."""

from openslot.platform.i18n import Reason

OVER = Reason("mail.over", "the meeting is over")
NO_HOST = Reason("mail.no_host", "the account is deleted", said="the host's account is deleted")
HOST_GONE = Reason("mail.host_gone", "the account is deleted", said="the host is gone")
UNWANTED = Reason("mail.unwanted", "you have turned these emails off", said="the host has switched these mails off")
CANCELLED = Reason("mail.cancelled", "the booking is cancelled")
MOVED = Reason("mail.moved", "the booking was rescheduled")
HANDED_OVER = Reason("mail.handed_over", "the booking was handed over to another host")
NO_SHOW = Reason("mail.no_show", "the invitee did not come")
SWITCHED_OFF = Reason("mail.switched_off", "reminders are switched off")
LAPSED = Reason("mail.lapsed", "it has expired", said="the request has lapsed")
LIMIT = Reason("mail.limit", "a limit of emails is reached", said="%(limit)s")

OPTED_OUT = Reason("mail.opted_out", "the recipient has unsubscribed")
NOT_KEPT = Reason("mail.not_kept", "the email is no longer kept")
SENT_BEFORE = Reason("mail.sent_before", "it is no longer needed", said="the email was sent before")

DELETED = Reason("mail.deleted", "the account is deleted")
CLOSED = Reason("mail.closed", "the account is closed")
SAME_ADDRESS = Reason("mail.same_address", "it is no longer needed", said="the address is the same")
NOT_WAITING = Reason(
    "mail.not_waiting",
    "it is no longer needed",
    said="the change was confirmed, withdrawn or replaced by another",
)
EXPIRED = Reason("mail.expired", "it has expired", said="the link has expired")
CODE_EXPIRED = Reason("mail.code_expired", "it has expired", said="the code has expired")
SIGN_UP_OVER = Reason("mail.sign_up_over", "it has expired", said="the sign-up is no longer valid")
INVITATION_OVER = Reason("mail.invitation_over", "it has expired", said="the invitation is no longer valid")
ENOUGH_LINKS = Reason(
    "mail.enough_links",
    "a limit of emails is reached",
    said="the address was sent as many links as allowed",
)
NOTHING_HELD = Reason(
    "mail.nothing_held",
    "it is no longer needed",
    said="no departure waits, or the administrator is gone",
)
NO_ADMINISTRATOR = Reason(
    "mail.no_administrator", "the account is deleted", said="the administrator's account is deleted"
)
DECIDED = Reason("mail.decided", "it is no longer needed", said="the request was decided, or its time is over")
NOT_LISTED = Reason("mail.not_listed", "it is no longer needed", said="it is not on the wait list any more")
OFFER_ENDED = Reason("mail.offer_ended", "it has expired", said="the offer has ended")
