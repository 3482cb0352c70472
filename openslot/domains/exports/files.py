"""The files of an export, and the tables that are not in it with the reason why."""

from msgspec.structs import fields

from openslot.domains.contacts.schemas import ContactWanted
from openslot.domains.exports import content_store
from openslot.domains.exports.models import ExportFile
from openslot.domains.exports.writers import (
    as_csv,
    as_list,
    as_object,
    as_picture,
    write_calendar,
    write_emails,
    write_event_types,
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
    "noShow",
    "privateNotes",
    "source",
    "createdAt",
    "seriesId",
    "id",
)
PAYMENT_COLUMNS = (
    "createdAt",
    "paidAt",
    "status",
    "amount",
    "currency",
    "refundedAmount",
    "mode",
    "bookingId",
    "receiptUrl",
    "paymentIntentId",
    "id",
)
CONTACT_COLUMNS = (
    "name",
    "email",
    *(each.encode_name for each in fields(ContactWanted) if each.name not in {"name", "email"}),
    "meetingCount",
    "createdAt",
    "id",
)
# Tables with data of a user that are in no file, each with the reason.
NOT_EXPORTED = {
    "allowance_refusals": "what was refused within the last days, which the first screen shows",
    "account_deletions": "exists only while the account is being deleted, when nobody can sign in to export it",
    "address_changes": "an address that waits to be confirmed for a day, and the hash of its link",
    "assignments": "what each choice of hosts was made of; credits.json has what it meant for the user",
    "assistant_codes": "hashes of codes that expire within a minute; assistants.json has what became of them",
    "assistant_refresh_tokens": "hashes of tokens of the connections in assistants.json",
    "booking_counts": "totals of bookings.json, kept for speed",
    "busy_sources": "which calendars close times; calendars.json says it",
    "busy_spans": "times that were read from the user's own calendars and are read again every five minutes",
    "calendar_channels": "hashes of what proves the notices of the user's own calendars",
    "calendar_events": "where bookings were written in the user's own calendar",
    "calendar_invitations": "which of the user's own calendars invited to which booking",
    "calendar_objects": "a cache of the user's own calendar, without titles, notes and guests",
    "claim_seats": "the seats of bookings.json in the engine that offers times",
    "claims": "the times of bookings.json in the engine that offers times, and holds of ten minutes",
    "contact_import_lines": "lines of a file that the user has sent; contacts.json has what became of them",
    "data_export_pieces": "the export itself",
    "data_exports": "the export itself",
    "chat_messages": "what the operator's team chat was told of broken connections, which activity.json has",
    "held_hosts": "times that are held for minutes while somebody books",
    "host_changes": "random numbers that show that the time of a host has changed",
    "host_groups": "how the hosts of a team's event types are chosen, which the team decides",
    "held_effects": "that a message waited while messages were stopped; emails.json has the email",
    "effects": "steps that follow from activity.json; emails.json and webhook-deliveries.json have their results",
    "email_codes": "hashes of codes for people who want to book, which expire within minutes",
    "event_feed": "numbers of the entries of activity.json, for the REST API's feed",
    "event_feeds": "the last of these numbers",
    "mail_limits_reached": "when the limit of emails was last reached; activity.json says it",
    "oauth_attempts": "hashes of consents at other services that expire within minutes",
    "oauth_grants": "encrypted tokens of the connections in calendars.json",
    "password_resets": "hashes of links that expire within hours",
    "pending_sign_ins": "hashes of sign-ins that expire within minutes",
    "revenue": "totals of payments.json by day",
    "team_rules": "how the hosts of a team's event types are chosen, which the team decides",
    "webhook_messages": "copies of bookings.json and contacts.json as they were sent to webhook endpoints",
    "wait_list_turns": "how far the job that looks at wait lists has come; wait-list.json has who waits",
}

FILES = (
    ExportFile(
        "account.json",
        "Your account: name, email address, username and former usernames, plan, time zone and language.",
        ("users", "former_usernames"),
        as_object(content_store.ACCOUNT),
    ),
    ExportFile(
        "settings.json",
        "Your brand, reminders, follow-ups, notifications, feature flags, and since when your bookings have a feed.",
        (
            "brands",
            "reminder_settings",
            "flag_overrides",
            "notification_choices",
            "calendar_feeds",
        ),
        as_object(content_store.SETTINGS),
    ),
    ExportFile(
        "organizations.json",
        "The organizations that you belong to, your role, and what their directory says about you.",
        ("memberships", "member_profiles", "held_departures"),
        as_list(content_store.ORGANIZATIONS),
    ),
    ExportFile(
        "teams.json",
        "The teams that you belong to, and what they say about you.",
        ("team_members",),
        as_list(content_store.TEAMS),
    ),
    ExportFile(
        "invitations.json", "Invitations that you received.", ("invitations",), as_list(content_store.INVITATIONS)
    ),
    ExportFile(
        "sessions.json", "The devices on which you are signed in.", ("sessions",), as_list(content_store.SESSIONS)
    ),
    ExportFile(
        "api-keys.json", "Your API keys, without the keys themselves.", ("api_keys",), as_list(content_store.KEYS)
    ),
    ExportFile(
        "assistants.json",
        "The assistants that you have connected and what each may do, without their tokens.",
        ("assistant_grants",),
        as_list(content_store.ASSISTANTS),
    ),
    ExportFile(
        "assistant-calls.json",
        "What your assistants have asked for in the last 90 days, and how it ended.",
        ("assistant_calls",),
        as_list(content_store.ASSISTANT_CALLS),
    ),
    ExportFile(
        "assistant-requests.json",
        "What your assistants have asked you to decide, and what you decided.",
        ("assistant_approvals",),
        as_list(content_store.ASSISTANT_APPROVALS),
    ),
    ExportFile(
        "sign-in.json",
        "Since when you use two-factor authentication, and the identity providers that you sign in with.",
        ("authenticators", "recovery_codes", "identities"),
        as_object(content_store.SIGN_IN),
    ),
    ExportFile("photo.jpg", "Your photo; empty if you have none.", ("photos",), as_picture(content_store.PHOTO)),
    ExportFile("logo.png", "Your logo; empty if you have none.", ("brand_images",), as_picture(content_store.LOGO)),
    ExportFile(
        "cover.jpg", "Your cover image; empty if you have none.", ("brand_images",), as_picture(content_store.COVER)
    ),
    ExportFile(
        "schedules.json",
        "Your working hours, date overrides and public holidays.",
        ("schedules",),
        as_list(content_store.SCHEDULES),
    ),
    ExportFile(
        "out-of-office.json", "The times in which you are away.", ("out_of_office",), as_list(content_store.AWAY)
    ),
    ExportFile(
        "event-types.json",
        "What can be booked with you, as the REST API shows it.",
        ("event_types",),
        write_event_types,
    ),
    ExportFile(
        "links.json",
        "Links for a number of bookings, without their tokens, and the bookings that were made through each.",
        ("booking_links", "booking_link_uses"),
        as_list(content_store.LINKS),
    ),
    ExportFile(
        "bookings.json",
        "All your bookings, as the REST API shows them, without the links that can change them, and all requests.",
        ("bookings", "booking_requests"),
        as_list(content_store.BOOKINGS),
    ),
    ExportFile(
        "bookings.csv",
        "The same as a table for a spreadsheet. Times are in UTC.",
        ("bookings",),
        as_csv(content_store.BOOKINGS, BOOKING_COLUMNS),
    ),
    ExportFile(
        "bookings.ics", "The same for a calendar program, cancelled bookings included.", ("bookings",), write_calendar
    ),
    ExportFile(
        "hosted-bookings.json",
        "When you host bookings of teams. Who has booked is in the file of the event type's owner.",
        ("booking_hosts",),
        as_list(content_store.HOSTED),
    ),
    ExportFile(
        "credits.json",
        "How bookings of teams have changed your credit, in millionths of a booking, and why.",
        ("credit_entries", "host_group_members"),
        as_list(content_store.CREDITS),
    ),
    ExportFile(
        "wait-list.json",
        "Who waits for a time with you, and what they were offered.",
        ("wait_list_entries", "wait_list_offers"),
        as_list(content_store.WAIT_LIST),
    ),
    ExportFile(
        "payments.json",
        "What invitees have paid or are to pay, with refunds. Amounts are in the currency's smallest unit.",
        ("payments", "refunds"),
        as_list(content_store.PAYMENTS),
    ),
    ExportFile(
        "payments.csv",
        "The same as a table for a spreadsheet, without the single refunds.",
        ("payments",),
        as_csv(content_store.PAYMENTS, PAYMENT_COLUMNS),
    ),
    ExportFile(
        "booking-history.json",
        "What happened to bookings so long ago that activity.json no longer has it.",
        ("booking_history",),
        as_list(content_store.HISTORY),
    ),
    ExportFile(
        "contacts.json", "Your contacts, as the REST API shows them.", ("contacts",), as_list(content_store.CONTACTS)
    ),
    ExportFile(
        "contacts.csv",
        "The same as a table for a spreadsheet.",
        ("contacts",),
        as_csv(content_store.CONTACTS, CONTACT_COLUMNS),
    ),
    ExportFile(
        "contact-imports.json",
        "Files from which you imported contacts, and how that went.",
        ("contact_imports",),
        as_list(content_store.IMPORTS),
    ),
    ExportFile(
        "conversations.json",
        "Your conversations by SMS and WhatsApp.",
        ("conversations",),
        as_list(content_store.CONVERSATIONS),
    ),
    ExportFile(
        "messages.json",
        "The messages of these conversations.",
        ("messages", "message_media"),
        as_list(content_store.MESSAGES),
    ),
    ExportFile(
        "numbers.json",
        "Your numbers for messages and calls that you have connected, without their tokens.",
        ("messaging_connections", "host_numbers", "call_notices", "call_recordings"),
        as_list(content_store.NUMBERS),
    ),
    ExportFile(
        "message-opt-outs.json",
        "Who has asked for no more messages from your numbers.",
        ("message_opt_outs",),
        as_list(content_store.OPT_OUTS),
    ),
    ExportFile(
        "message-consents.json",
        "Who has agreed to messages from you, when, and to what.",
        ("message_consents",),
        as_list(content_store.CONSENTS),
    ),
    ExportFile(
        "calls.json",
        "Calls that the voice agent has answered or made for you.",
        ("calls",),
        as_list(content_store.CALLS),
    ),
    ExportFile(
        "webhooks.json",
        "Your webhook endpoints, without their secrets.",
        ("webhook_endpoints",),
        as_list(content_store.WEBHOOKS),
    ),
    ExportFile(
        "webhook-deliveries.json",
        "What was sent to these endpoints, and how it went.",
        ("webhook_deliveries",),
        as_list(content_store.DELIVERIES),
    ),
    ExportFile(
        "calendars.json",
        "Your connected calendars, without passwords and addresses.",
        ("calendar_connections", "calendars"),
        as_list(content_store.CALENDARS),
    ),
    ExportFile(
        "crms.json",
        "Your connected CRMs and which meeting there is which booking, without secrets.",
        ("crm_connections", "crm_meetings"),
        as_list(content_store.CRMS),
    ),
    ExportFile(
        "subscriptions.json",
        "Your subscriptions to plans, with their ids at the payment provider.",
        ("subscribers",),
        as_list(content_store.SUBSCRIPTIONS),
    ),
    ExportFile(
        "payment-connections.json",
        "Your accounts of a payment provider that you have connected, without their keys.",
        ("payment_connections", "payment_notices"),
        as_list(content_store.PAYMENT_CONNECTIONS),
    ),
    ExportFile(
        "emails.json",
        "Emails about you and your bookings that Openslot has sent; their text where it was kept.",
        ("mail_messages",),
        write_emails,
    ),
    ExportFile(
        "page-views.json",
        "How often your booking pages were opened, by day and source.",
        ("page_views",),
        as_list(content_store.PAGE_VIEWS),
    ),
    ExportFile(
        "activity.json",
        "What happened in your account, and who caused it.",
        ("events",),
        as_list(content_store.ACTIVITY),
    ),
)
