"""All that is attached, in one readable list: events, consequences, reactions, periodic jobs, ports, sealed columns."""

from collections.abc import Mapping

from openslot.access.events import ACCESS_EVENTS
from openslot.access.jobs import ACCESS_JOBS
from openslot.accounts.events import ACCOUNT_EVENTS
from openslot.accounts.organizations import TxtResolver
from openslot.accounts.profiles import ACCOUNT_JOBS
from openslot.agents.events import AGENT_EVENTS
from openslot.agents.reactions import AGENT_JOBS, AGENT_REACTIONS
from openslot.allowances.operations import ALLOWANCE_JOBS
from openslot.analytics.funnel import FUNNEL_BEGINNING, take_step
from openslot.analytics.models import FunnelStep
from openslot.analytics.operations import ANALYTICS_JOBS
from openslot.analytics.platform import PLATFORM_JOBS
from openslot.assistants.events import ASSISTANT_EVENTS
from openslot.assistants.operations import ASSISTANT_JOBS
from openslot.assistants.reactions import ASSISTANT_REACTIONS, CALL_JOBS
from openslot.availability.claims import AVAILABILITY_JOBS
from openslot.bookings.conferences import CONFERENCE_REACTIONS
from openslot.bookings.events import BOOKING_EVENTS, BookingCreated
from openslot.bookings.requests import REQUEST_JOBS, REQUEST_REACTIONS
from openslot.change_log.operations import CHANGE_LOG_JOBS
from openslot.contacts.events import CONTACT_EVENTS
from openslot.contacts.reactions import CONTACT_JOBS, CONTACT_REACTIONS
from openslot.core.migrate import known_migrations
from openslot.core.outbound import Resolver, open_system_resolver
from openslot.core.ports import OpenAdapter
from openslot.core.sealing import SealedColumn
from openslot.core.work import Periodic, Wiring
from openslot.crm.events import CRM_EVENTS
from openslot.crm.ports import CrmVendors
from openslot.crm.reactions import CRM_REACTIONS
from openslot.doctor.system_tests import DOCTOR_REACTIONS
from openslot.event_types.events import EVENT_TYPE_EVENTS, EventTypeAdded
from openslot.event_types.ports import Conferences
from openslot.exports.reactions import EXPORT_JOBS, EXPORT_REACTIONS
from openslot.flags.events import FLAG_EVENTS
from openslot.integrations.calendars.events import CALENDAR_EVENTS, CalendarConnected
from openslot.integrations.calendars.invitations import INVITATION_CONSEQUENCES, INVITATION_JOBS
from openslot.integrations.calendars.reactions import CALENDAR_JOBS, CALENDAR_REACTIONS
from openslot.integrations.chat import Chat, open_chat
from openslot.integrations.conferences import open_conferences
from openslot.integrations.crm.vendors import open_crm_vendors
from openslot.integrations.dns import open_dns_resolver
from openslot.integrations.mail.events import MAIL_EVENTS
from openslot.integrations.mail.organization_mails import ORGANIZATION_REACTIONS
from openslot.integrations.mail.plan_mails import PLAN_REACTIONS
from openslot.integrations.mail.ports import Mailer
from openslot.integrations.mail.reactions import MAIL_JOBS, MAIL_REACTIONS
from openslot.integrations.mail.smtp import open_mailer
from openslot.integrations.oauth.operations import OAUTH_JOBS
from openslot.integrations.oidc.events import OIDC_EVENTS
from openslot.integrations.oidc.operations import OIDC_JOBS
from openslot.integrations.providers import open_providers
from openslot.integrations.stripe.billing import open_billings
from openslot.integrations.stripe.checkout import open_checkouts
from openslot.jobs.housekeeping import HOUSEKEEPING
from openslot.messaging.answers import ANSWER_REACTIONS
from openslot.messaging.connection_events import MESSAGING_CONNECTION_EVENTS
from openslot.messaging.host_numbers import NUMBER_CONSEQUENCES
from openslot.messaging.jobs import MESSAGING_JOBS
from openslot.messaging.ports import MessageProviders
from openslot.messaging.reminders import REMINDER_REACTIONS
from openslot.messaging.sending import SENDING_REACTIONS
from openslot.payments.connection_events import PAYMENT_CONNECTION_EVENTS
from openslot.payments.events import PAYMENT_EVENTS
from openslot.payments.jobs import PAYMENT_JOBS
from openslot.payments.polling import PAYMENT_CONNECTION_JOBS, PAYMENT_CONNECTION_REACTIONS
from openslot.payments.ports import Billings, Checkouts
from openslot.payments.reactions import PAYMENT_CONSEQUENCES, PAYMENT_REACTIONS
from openslot.payments.subscription_jobs import SUBSCRIPTION_JOBS, SUBSCRIPTION_REACTIONS
from openslot.people.deletions import PEOPLE_JOBS
from openslot.people.events import PEOPLE_EVENTS
from openslot.reminders.operations import REMINDER_CONSEQUENCES
from openslot.scim.operations import SCIM_JOBS
from openslot.teams.events import TEAM_EVENTS
from openslot.wait_list.events import WAIT_LIST_EVENTS
from openslot.wait_list.reactions import WAIT_LIST_CONSEQUENCES, WAIT_LIST_JOBS, WAIT_LIST_REACTIONS
from openslot.webhooks.events import WEBHOOK_EVENTS
from openslot.webhooks.reactions import WEBHOOK_JOBS, WEBHOOK_REACTIONS
from openslot.webhooks.store import LOGGED_EVENT

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
