-- Time that is taken: ours, which never overlaps, and what foreign calendars say.

create table claims (
    id uuid primary key,
    host_no bigint not null references users (no) on delete cascade,
    kind text not null check (kind in ('hold', 'booking', 'payment', 'session')),
    event_type_id uuid references event_types on delete set null,
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    during tstzrange not null,
    seats integer not null default 1 check (seats > 0),
    active boolean not null default true,
    expires_at timestamptz,
    holder text,
    created_at timestamptz not null,
    check (starts_at < ends_at),
    check (during @> tstzrange(starts_at, ends_at)),
    -- A range of one number stands for the number, so that no extension is needed.
    constraint claims_never_overlap
        exclude using gist (int8range(host_no, host_no, '[]') with =, during with &&) where (active)
);
create index claims_event_type on claims (event_type_id, starts_at) where active;
create index claims_expiry on claims (expires_at) where active and expires_at is not null;
create index claims_holder on claims (holder) where active and holder is not null;

-- Who sits in a group session: a booking, or a hold until it expires.
create table claim_seats (
    id uuid primary key,
    claim_id uuid not null references claims on delete cascade,
    active boolean not null default true,
    expires_at timestamptz,
    holder text,
    created_at timestamptz not null
);
create index claim_seats_claim on claim_seats (claim_id) where active;
create index claim_seats_expiry on claim_seats (expires_at) where active and expires_at is not null;
create index claim_seats_holder on claim_seats (holder) where active and holder is not null;

create table busy_spans (
    id bigint generated always as identity primary key,
    host_no bigint not null references users (no) on delete cascade,
    connection_id uuid,
    source text not null,
    uid text not null,
    during tstzrange not null
);
create index busy_spans_host on busy_spans using gist (int8range(host_no, host_no, '[]'), during);
create index busy_spans_connection on busy_spans (connection_id, uid);
