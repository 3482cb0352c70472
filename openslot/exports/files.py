"""The files of an export, and the tables that are not in it with the reason why."""

from openslot.exports import content_store
from openslot.exports.models import ExportFile
from openslot.exports.writers import (
    as_csv,
    as_list,
    as_object,
    write_calendar,
    write_emails,
    write_event_types,
    write_photo,
)

BOOKING_COLUMNS = (
    "startTime",
    "endTime",
    "status",
    "eventType.name",
    "inviteeName",
    "inviteeEmail",
    "inviteeTimezone",
    "location.value",
    "guests",
    "notes",
    "cancelReason",
    "cancelledBy",
    "createdAt",
    "id",
)
CONTACT_COLUMNS = ("name", "email", "phone", "company", "notes", "tags", "meetingCount", "createdAt", "id")

FILES = (
    ExportFile(
        name="account.json",
        about="Your account: name, email address, username and former usernames, plan, time zone and language.",
        tables=("users", "former_usernames"),
        write=as_object(content_store.ACCOUNT),
    ),
    ExportFile(
        name="settings.json",
        about="Your brand, reminders, notifications, feature flags, and since when your bookings have a feed.",
        tables=("brands", "reminder_settings", "flag_overrides", "notification_choices", "calendar_feeds"),
        write=as_object(content_store.SETTINGS),
    ),
    ExportFile(
        name="organizations.json",
        about="The organizations that you belong to, your role, and what their directory says about you.",
        tables=("memberships", "member_profiles", "held_departures"),
        write=as_list(content_store.ORGANIZATIONS),
    ),
    ExportFile(
        name="invitations.json",
        about="Invitations that you received.",
        tables=("invitations",),
        write=as_list(content_store.INVITATIONS),
    ),
    ExportFile(
        name="sessions.json",
        about="The devices on which you are signed in.",
        tables=("sessions",),
        write=as_list(content_store.SESSIONS),
    ),
    ExportFile(
        name="api-keys.json",
        about="Your API keys, without the keys themselves.",
        tables=("api_keys",),
        write=as_list(content_store.KEYS),
    ),
    ExportFile(
        name="sign-in.json",
        about="Since when you use two-factor authentication, and the identity providers that you sign in with.",
        tables=("authenticators", "recovery_codes", "identities"),
        write=as_object(content_store.SIGN_IN),
    ),
    ExportFile(
        name="photo.jpg",
        about="Your photo; empty if you have none.",
        tables=("photos",),
        write=write_photo,
    ),
    ExportFile(
        name="schedules.json",
        about="Your working hours, date overrides and public holidays.",
        tables=("schedules",),
        write=as_list(content_store.SCHEDULES),
    ),
    ExportFile(
        name="out-of-office.json",
        about="The times in which you are away.",
        tables=("out_of_office",),
        write=as_list(content_store.AWAY),
    ),
    ExportFile(
        name="event-types.json",
        about="What can be booked with you, as the REST API shows it.",
        tables=("event_types",),
        write=write_event_types,
    ),
    ExportFile(
        name="bookings.json",
        about="All your bookings, as the REST API shows them, without the links that can change them.",
        tables=("bookings",),
        write=as_list(content_store.BOOKINGS),
    ),
    ExportFile(
        name="bookings.csv",
        about="The same as a table for a spreadsheet. Times are in UTC.",
        tables=("bookings",),
        write=as_csv(content_store.BOOKINGS, BOOKING_COLUMNS),
    ),
    ExportFile(
        name="bookings.ics",
        about="The same for a calendar program, cancelled bookings included.",
        tables=("bookings",),
        write=write_calendar,
    ),
    ExportFile(
        name="booking-history.json",
        about="What happened to bookings so long ago that activity.json no longer has it.",
        tables=("booking_history",),
        write=as_list(content_store.HISTORY),
    ),
    ExportFile(
        name="contacts.json",
        about="Your contacts, as the REST API shows them.",
        tables=("contacts",),
        write=as_list(content_store.CONTACTS),
    ),
    ExportFile(
        name="contacts.csv",
        about="The same as a table for a spreadsheet.",
        tables=("contacts",),
        write=as_csv(content_store.CONTACTS, CONTACT_COLUMNS),
    ),
    ExportFile(
        name="contact-imports.json",
        about="Files from which you imported contacts, and how that went.",
        tables=("contact_imports",),
        write=as_list(content_store.IMPORTS),
    ),
    ExportFile(
        name="conversations.json",
        about="Your conversations by SMS and WhatsApp.",
        tables=("conversations",),
        write=as_list(content_store.CONVERSATIONS),
    ),
    ExportFile(
        name="messages.json",
        about="The messages of these conversations.",
        tables=("messages",),
        write=as_list(content_store.MESSAGES),
    ),
    ExportFile(
        name="calls.json",
        about="Calls that the voice agent has answered or made for you.",
        tables=("calls",),
        write=as_list(content_store.CALLS),
    ),
    ExportFile(
        name="webhooks.json",
        about="Your webhook endpoints, without their secrets.",
        tables=("webhook_endpoints",),
        write=as_list(content_store.WEBHOOKS),
    ),
    ExportFile(
        name="webhook-deliveries.json",
        about="What was sent to these endpoints, and how it went.",
        tables=("webhook_deliveries",),
        write=as_list(content_store.DELIVERIES),
    ),
    ExportFile(
        name="calendars.json",
        about="Your connected calendars, without passwords and addresses.",
        tables=("calendar_connections", "calendars"),
        write=as_list(content_store.CALENDARS),
    ),
    ExportFile(
        name="emails.json",
        about="Emails about you and your bookings that Openslot has sent; their text where it was kept.",
        tables=("mail_messages",),
        write=write_emails,
    ),
    ExportFile(
        name="page-views.json",
        about="How often your booking pages were opened, by day and source.",
        tables=("page_views",),
        write=as_list(content_store.PAGE_VIEWS),
    ),
    ExportFile(
        name="activity.json",
        about="What happened in your account, and who caused it.",
        tables=("events",),
        write=as_list(content_store.ACTIVITY),
    ),
)

# Tables with data of a user that are in no file, each with the reason.
NOT_EXPORTED = {
    "account_deletions": "exists only while the account is being deleted, when nobody can sign in to export it",
    "address_changes": "an address that waits to be confirmed for a day, and the hash of its link",
    "booking_counts": "totals of bookings.json, kept for speed",
    "busy_sources": "which calendars close times; calendars.json says it",
    "busy_spans": "times that were read from the user's own calendars and are read again every five minutes",
    "calendar_events": "where bookings were written in the user's own calendar",
    "calendar_objects": "a cache of the user's own calendar, without titles, notes and guests",
    "claim_seats": "the seats of bookings.json in the engine that offers times",
    "claims": "the times of bookings.json in the engine that offers times, and holds of ten minutes",
    "contact_import_lines": "lines of a file that the user has sent; contacts.json has what became of them",
    "data_export_pieces": "the export itself",
    "data_exports": "the export itself",
    "effects": "steps that follow from activity.json; emails.json and webhook-deliveries.json have their results",
    "event_feed": "numbers of the entries of activity.json, for the REST API's feed",
    "event_feeds": "the last of these numbers",
    "mail_limits_reached": "when the limit of emails was last reached; activity.json says it",
    "password_resets": "hashes of links that expire within hours",
    "pending_sign_ins": "hashes of sign-ins that expire within minutes",
    "webhook_messages": "copies of bookings.json and contacts.json as they were sent to webhook endpoints",
}
