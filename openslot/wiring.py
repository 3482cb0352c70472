"""All that is attached, in one readable list: events, consequences, reactions, periodic jobs, ports, sealed columns."""

from collections.abc import Mapping

from openslot.domains.access.events import ACCESS_EVENTS
from openslot.domains.access.jobs import ACCESS_JOBS
from openslot.domains.accounts.events import ACCOUNT_EVENTS
from openslot.domains.accounts.organizations.operations import TxtResolver
from openslot.domains.accounts.profiles.operations import ACCOUNT_JOBS
from openslot.domains.allowances.operations import ALLOWANCE_JOBS
from openslot.domains.analytics.funnel import FUNNEL_BEGINNING, take_step
from openslot.domains.analytics.models import FunnelStep
from openslot.domains.analytics.operations import ANALYTICS_JOBS
from openslot.domains.analytics.platform import PLATFORM_JOBS
from openslot.domains.availability.claims.expiry.jobs import AVAILABILITY_JOBS
from openslot.domains.bookings.conferences import CONFERENCE_REACTIONS
from openslot.domains.bookings.events import BOOKING_EVENTS, BookingCreated
from openslot.domains.bookings.requests.operations import REQUEST_JOBS, REQUEST_REACTIONS
from openslot.domains.calendars.events import CALENDAR_EVENTS, CalendarConnected
from openslot.domains.calendars.invitations import INVITATION_CONSEQUENCES, INVITATION_JOBS
from openslot.domains.calendars.reactions import CALENDAR_JOBS, CALENDAR_REACTIONS
from openslot.domains.calendars.servers import CalendarServers
from openslot.domains.change_log.operations import CHANGE_LOG_JOBS
from openslot.domains.contacts.events import CONTACT_EVENTS
from openslot.domains.contacts.reactions import CONTACT_JOBS, CONTACT_REACTIONS
from openslot.domains.crm.events import CRM_EVENTS
from openslot.domains.crm.ports import CrmVendors
from openslot.domains.crm.reactions import CRM_REACTIONS
from openslot.domains.doctor.system_tests import DOCTOR_REACTIONS
from openslot.domains.event_types.events import EVENT_TYPE_EVENTS, EventTypeAdded
from openslot.domains.event_types.ports import Conferences
from openslot.domains.exports.reactions import EXPORT_JOBS, EXPORT_REACTIONS
from openslot.domains.mail.events import MAIL_EVENTS
from openslot.domains.mail.kinds.organizations import ORGANIZATION_REACTIONS
from openslot.domains.mail.kinds.plans import PLAN_REACTIONS
from openslot.domains.mail.ports import Mailer, MailServers
from openslot.domains.mail.reactions import MAIL_JOBS, MAIL_REACTIONS
from openslot.domains.messaging.answers import ANSWER_REACTIONS
from openslot.domains.messaging.connections.events import MESSAGING_CONNECTION_EVENTS
from openslot.domains.messaging.host_numbers import NUMBER_CONSEQUENCES
from openslot.domains.messaging.jobs import MESSAGING_JOBS
from openslot.domains.messaging.ports import MessageProviders
from openslot.domains.messaging.reminders.reactions import REMINDER_REACTIONS
from openslot.domains.messaging.sending import SENDING_REACTIONS
from openslot.domains.oauth.operations import OAUTH_JOBS
from openslot.domains.oidc.events import OIDC_EVENTS
from openslot.domains.oidc.operations import OIDC_JOBS
from openslot.domains.payments.connections.events import PAYMENT_CONNECTION_EVENTS
from openslot.domains.payments.events import PAYMENT_EVENTS
from openslot.domains.payments.jobs import PAYMENT_JOBS
from openslot.domains.payments.polling import PAYMENT_CONNECTION_JOBS, PAYMENT_CONNECTION_REACTIONS
from openslot.domains.payments.ports import Checkouts
from openslot.domains.payments.reactions import PAYMENT_CONSEQUENCES, PAYMENT_REACTIONS
from openslot.domains.people.deletions import PEOPLE_JOBS
from openslot.domains.people.events import PEOPLE_EVENTS
from openslot.domains.plans.jobs import SUBSCRIPTION_JOBS, SUBSCRIPTION_REACTIONS
from openslot.domains.plans.ports import Billings
from openslot.domains.reminders.operations import REMINDER_CONSEQUENCES
from openslot.domains.teams.events import TEAM_EVENTS
from openslot.domains.wait_list.events import WAIT_LIST_EVENTS
from openslot.domains.wait_list.reactions import WAIT_LIST_CONSEQUENCES, WAIT_LIST_JOBS, WAIT_LIST_REACTIONS
from openslot.domains.webhooks.events import WEBHOOK_EVENTS
from openslot.domains.webhooks.reactions import WEBHOOK_JOBS, WEBHOOK_REACTIONS
from openslot.domains.webhooks.store import LOGGED_EVENT
from openslot.doors.agents.events import AGENT_EVENTS
from openslot.doors.agents.reactions import AGENT_JOBS, AGENT_REACTIONS
from openslot.doors.assistants.reactions import ASSISTANT_REACTIONS, CALL_JOBS
from openslot.doors.oauth.events import ASSISTANT_EVENTS
from openslot.doors.oauth.operations import ASSISTANT_JOBS
from openslot.doors.scim.operations import SCIM_JOBS
from openslot.platform.core.migrate import known_migrations
from openslot.platform.core.outbound import Resolver, open_system_resolver
from openslot.platform.core.ports import OpenAdapter
from openslot.platform.core.sealing import SealedColumn
from openslot.platform.core.work import Periodic, Wiring
from openslot.platform.flags.events import FLAG_EVENTS
from openslot.platform.jobs.housekeeping import HOUSEKEEPING
from openslot.vendors.calendars import open_calendar_servers
from openslot.vendors.chat import Chat, open_chat
from openslot.vendors.conferences import open_conferences
from openslot.vendors.crms import open_crm_vendors
from openslot.vendors.dns import open_dns_resolver
from openslot.vendors.providers import open_providers
from openslot.vendors.smtp import open_mail_servers, open_mailer
from openslot.vendors.stripe.billing import open_billings
from openslot.vendors.stripe.checkout import open_checkouts

EVENTS = (
    *FLAG_EVENTS,
    *ACCOUNT_EVENTS,
    *EVENT_TYPE_EVENTS,
    *TEAM_EVENTS,
    *ACCESS_EVENTS,
    *CONTACT_EVENTS,
    *BOOKING_EVENTS,
    *WAIT_LIST_EVENTS,
    *PAYMENT_EVENTS,
    *PAYMENT_CONNECTION_EVENTS,
    *MESSAGING_CONNECTION_EVENTS,
    *CRM_EVENTS,
    *WEBHOOK_EVENTS,
    *CALENDAR_EVENTS,
    *MAIL_EVENTS,
    *OIDC_EVENTS,
    *PEOPLE_EVENTS,
    *AGENT_EVENTS,
    *ASSISTANT_EVENTS,
)
CONSEQUENCES = (
    *PAYMENT_CONSEQUENCES,
    *NUMBER_CONSEQUENCES,
    *FUNNEL_BEGINNING,
    take_step(FunnelStep.CALENDAR_CONNECTED, CalendarConnected),
    take_step(FunnelStep.EVENT_TYPE_MADE, EventTypeAdded),
    take_step(FunnelStep.FIRST_BOOKING, BookingCreated),
    *INVITATION_CONSEQUENCES,
    *WAIT_LIST_CONSEQUENCES,
    *REMINDER_CONSEQUENCES,
)
REACTIONS = (
    *CONTACT_REACTIONS,
    *CONFERENCE_REACTIONS,
    *REQUEST_REACTIONS,
    *WAIT_LIST_REACTIONS,
    *PAYMENT_REACTIONS,
    *PAYMENT_CONNECTION_REACTIONS,
    *WEBHOOK_REACTIONS,
    *MAIL_REACTIONS,
    *CALENDAR_REACTIONS,
    *CRM_REACTIONS,
    *ORGANIZATION_REACTIONS,
    *AGENT_REACTIONS,
    *ASSISTANT_REACTIONS,
    *EXPORT_REACTIONS,
    *SUBSCRIPTION_REACTIONS,
    *PLAN_REACTIONS,
    *SENDING_REACTIONS,
    *DOCTOR_REACTIONS,
    *ANSWER_REACTIONS,
    *REMINDER_REACTIONS,
)
PERIODIC: tuple[Periodic, ...] = (
    *HOUSEKEEPING,
    *ACCOUNT_JOBS,
    *ACCESS_JOBS,
    *ALLOWANCE_JOBS,
    *AVAILABILITY_JOBS,
    *CONTACT_JOBS,
    *REQUEST_JOBS,
    *WAIT_LIST_JOBS,
    *PEOPLE_JOBS,
    *PAYMENT_JOBS,
    *PAYMENT_CONNECTION_JOBS,
    *MESSAGING_JOBS,
    *WEBHOOK_JOBS,
    *CALENDAR_JOBS,
    *INVITATION_JOBS,
    *MAIL_JOBS,
    *OAUTH_JOBS,
    *OIDC_JOBS,
    *SCIM_JOBS,
    *AGENT_JOBS,
    *ASSISTANT_JOBS,
    *CALL_JOBS,
    *ANALYTICS_JOBS,
    *PLATFORM_JOBS,
    *EXPORT_JOBS,
    *CHANGE_LOG_JOBS,
    *SUBSCRIPTION_JOBS,
)
EVENT_USES = (LOGGED_EVENT,)

WIRING = Wiring(
    events=EVENTS,
    consequences=CONSEQUENCES,
    reactions=REACTIONS,
    periodic=PERIODIC,
    event_uses=EVENT_USES,
    migrations=known_migrations(),
)

# The adapter of each port; a test gives fakes to `open_runtime`.
PORTS: Mapping[type, OpenAdapter] = {
    Resolver: open_system_resolver,
    TxtResolver: open_dns_resolver,
    Chat: open_chat,
    Conferences: open_conferences,
    Mailer: open_mailer,
    MailServers: open_mail_servers,
    CalendarServers: open_calendar_servers,
    Billings: open_billings,
    Checkouts: open_checkouts,
    MessageProviders: open_providers,
    CrmVendors: open_crm_vendors,
}

# Every column that the secret key seals, the data keys aside: a key is retired when none of them needs it any more.
SEALED = (
    SealedColumn("webhook_endpoints", "secret"),
    SealedColumn("webhook_endpoints", "previous_secret"),
    SealedColumn("calendar_connections", "secret"),
    SealedColumn("oauth_grants", "secret"),
    SealedColumn("authenticators", "secret"),
    SealedColumn("payment_connections", "key"),
    SealedColumn("payment_connections", "notice_secret"),
    SealedColumn("payment_endings", "key"),
    SealedColumn("messaging_connections", "token"),
    SealedColumn("messaging_connections", "second_token"),
    SealedColumn("crm_connections", "secret"),
    SealedColumn("message_erasures", "token"),
    SealedColumn("message_erasures", "ref"),
    SealedColumn("message_media", "ref"),
    SealedColumn("calls", "recording"),
    SealedColumn("calls", "transcript"),
    SealedColumn("call_recordings", "ref"),
)
