-- Meetings that were made.

create table bookings (
    id uuid primary key,
    host_id uuid not null references users on delete cascade,
    event_type_id uuid not null references event_types,
    contact_id uuid references contacts on delete set null,
    claim_id uuid not null references claims,
    seat_id uuid references claim_seats,
    status text not null check (status in ('CONFIRMED', 'CANCELLED', 'PENDING_PAYMENT')),
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    invitee_name text not null,
    invitee_email text not null,
    invitee_zone text not null,
    notes text,
    location jsonb not null,
    answers jsonb not null,
    guests text[] not null default '{}',
    payment jsonb,
    sequence integer not null default 0,
    reschedule_count integer not null default 0,
    previous_starts_at timestamptz,
    cancelled_at timestamptz,
    cancel_reason text,
    cancelled_by text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    check (starts_at < ends_at),
    check ((status = 'CANCELLED') = (cancelled_at is not null))
);
create index bookings_host on bookings (host_id, starts_at desc, id desc) include (status);
create index bookings_contact on bookings (contact_id, starts_at desc);
create index bookings_event_type on bookings (event_type_id);
create index bookings_claim on bookings (claim_id);
