-- The wait list: who waits for a day or a session that is full, and which free times they were offered.

-- For how many minutes a free time is kept for somebody who waits; null: the event type has no wait list.
alter table event_types add column wait_list_minutes integer;

alter table claims drop constraint claims_kind_check;
alter table claims add constraint claims_kind_check
    check (kind in ('hold', 'booking', 'payment', 'request', 'session', 'offer')) not valid;

create table wait_list_entries (
    id uuid primary key,
    host_id uuid not null references users on delete cascade,
    event_type_id uuid not null references event_types on delete cascade,
    -- A date in the zone of who waits.
    day date not null,
    -- The session that is waited for; null: any time of the day.
    starts_at timestamptz,
    -- How long the meeting is to be; null: as long as the event type's default.
    minutes integer,
    -- When the day is over, or the session begins.
    until timestamptz not null,
    name text not null,
    email text not null,
    zone text not null,
    locale text,
    state text not null check (state in ('unproven', 'waiting', 'booked')),
    created_at timestamptz not null,
    -- When the address was last asked to confirm.
    asked_at timestamptz not null
);
create index wait_list_entries_host on wait_list_entries (host_id, created_at);
create index wait_list_entries_type on wait_list_entries (event_type_id);
create index wait_list_entries_over on wait_list_entries (until);
create index wait_list_entries_asked on wait_list_entries (asked_at) where state = 'unproven';
-- An address waits once for the same thing.
create unique index wait_list_entries_once
    on wait_list_entries (event_type_id, lower(email), day, coalesce(starts_at, '-infinity')) where state <> 'booked';

-- A free time that is kept for one person. Its time is a claim of kind 'offer', or a seat of a session.
create table wait_list_offers (
    id uuid primary key,
    entry_id uuid not null references wait_list_entries on delete cascade,
    host_id uuid not null references users on delete cascade,
    email text not null,
    claim_id uuid references claims on delete set null,
    seat_id uuid references claim_seats on delete set null,
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    made_at timestamptz not null,
    -- Until when it can be taken; the time itself is kept a little longer, so that it can be handed on.
    expires_at timestamptz not null,
    state text not null check (state in ('offered', 'accepted', 'declined', 'expired', 'withdrawn')),
    ended_at timestamptz,
    check ((state = 'offered') = (ended_at is null)),
    -- Nobody is offered the same time twice.
    constraint wait_list_offers_once unique (entry_id, starts_at)
);
create index wait_list_offers_claim on wait_list_offers (claim_id);
create index wait_list_offers_seat on wait_list_offers (seat_id);
create index wait_list_offers_host on wait_list_offers (host_id);
-- One live offer for each person.
create unique index wait_list_offers_live on wait_list_offers (host_id, lower(email)) where state = 'offered';
