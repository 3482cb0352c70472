-- Event types that several people host, who was chosen for a booking, and why.

create table team_rules (
    event_type_id uuid primary key references event_types on delete cascade,
    -- Its lock: the second number of an advisory lock.
    no integer generated always as identity unique,
    balance text not null default 'share' check (balance in ('share', 'total')),
    -- With the balance 'total': who is more bookings ahead than this is left out.
    max_lead integer check (max_lead >= 0),
    -- With the balance 'total': for how many days bookings are counted.
    window_days integer not null default 90 check (window_days between 1 and 730),
    -- The most bookings of this event type, and of all event types, that a host has on a day or in a week.
    host_per_day integer check (host_per_day > 0),
    host_per_week integer check (host_per_week > 0),
    host_total_per_day integer check (host_total_per_day > 0),
    host_total_per_week integer check (host_total_per_week > 0),
    -- Whether others are chosen for a new time at which the hosts are not free.
    picks_anew boolean not null default true,
    -- Whether somebody else takes the bookings of a host who leaves; otherwise they are cancelled.
    replaces_leavers boolean not null default true,
    -- Whether a booking to which the invitee did not come, or that a host has cancelled, counts.
    counts_no_shows boolean not null default true,
    counts_host_cancellations boolean not null default true
);
comment on table team_rules is 'How the hosts of a team''s event type are chosen.';

create table host_groups (
    id uuid primary key,
    event_type_id uuid not null references event_types on delete cascade,
    position integer not null,
    pick integer not null check (pick > 0),
    -- Which attributes members of the team have who belong to it: {"language": ["de", "fr"]}; null: they are listed.
    filter jsonb,
    constraint host_groups_position unique (event_type_id, position)
);
comment on table host_groups is 'The groups of a team''s event type, of each of which a number of hosts is picked.';

create table host_group_members (
    group_id uuid not null references host_groups on delete cascade,
    user_id uuid not null references users on delete cascade,
    -- Whether they belong to it; of others the credit alone is kept.
    listed boolean not null,
    -- Null: what they have in the team.
    weight integer check (weight between 0 and 1000),
    priority integer check (priority between 0 and 3),
    -- How far they are behind their share, in millionths of a booking: the sum of their entries in the ledger.
    credit bigint not null default 0,
    -- Which choice of the group was the last to choose them, counted from 1; 0: none.
    last_no bigint not null default 0,
    -- Since when they have been chosen from; null: not now.
    joined_at timestamptz,
    primary key (group_id, user_id)
);
comment on table host_group_members is 'Who belongs to such a group, and how far each is behind their share.';
create index host_group_members_user on host_group_members (user_id);

create table assignments (
    no bigint generated always as identity primary key,
    id uuid not null unique,
    group_id uuid not null references host_groups on delete cascade,
    -- The booking, or the claim that holds the time; neither: the hold was not booked.
    booking_id uuid,
    hold_id uuid,
    reason text not null check (reason in ('booked', 'series', 'held', 'rescheduled', 'reassigned', 'replaced')),
    at timestamptz not null,
    -- What `choose` was given, and what it has answered.
    asked jsonb not null,
    chosen uuid[] not null,
    -- What each of the chosen has paid, in millionths of a booking.
    price bigint not null
);
comment on table assignments is
    'Each choice of hosts, with everything that it was made of, so that it can be made again.';
create index assignments_group on assignments (group_id, at);
create index assignments_booking on assignments (booking_id);
create index assignments_hold on assignments (hold_id) where hold_id is not null;
-- Whether a ledger is settled depends on choices for holds: the few of a group are found beside all that were booked.
create index assignments_held on assignments (group_id) where hold_id is not null;

create table credit_entries (
    no bigint generated always as identity primary key,
    group_id uuid not null references host_groups on delete cascade,
    user_id uuid not null references users on delete cascade,
    -- Null: it belongs to no booking.
    assignment_id uuid,
    delta bigint not null,
    -- 1: they have the booking; -1: they have it no longer, or it does not count.
    served smallint not null default 0,
    reason text not null check (reason in ('booked', 'series', 'held', 'rescheduled', 'reassigned', 'replaced',
        'cancelled', 'declined', 'withdrawn', 'lapsed', 'no_show', 'came', 'expired', 'left')),
    at timestamptz not null
);
comment on table credit_entries is 'Every change of a credit, and of how many bookings a host has.';
create index credit_entries_member on credit_entries (group_id, user_id, no);
create index credit_entries_user on credit_entries (user_id);
create index credit_entries_assignment on credit_entries (assignment_id);

create table booking_hosts (
    booking_id uuid not null references bookings on delete cascade,
    user_id uuid not null references users on delete cascade,
    group_id uuid,
    claim_id uuid not null references claims on delete cascade,
    -- The first of them is the organizer, who is in `bookings.claim_id` as well.
    role text not null check (role in ('organizer', 'host')),
    primary key (booking_id, user_id)
);
comment on table booking_hosts is 'Who hosts a booking of a team''s event type, and the claim that takes their time.';
create index booking_hosts_user on booking_hosts (user_id);
create index booking_hosts_claim on booking_hosts (claim_id);

create table held_hosts (
    claim_id uuid primary key references claims on delete cascade,
    hold_id uuid not null,
    user_id uuid not null references users on delete cascade,
    group_id uuid not null references host_groups on delete cascade
);
comment on table held_hosts is 'The claims of a held time of a team; the hold has the id of the first one.';
create index held_hosts_hold on held_hosts (hold_id);
create index held_hosts_user on held_hosts (user_id);
create index held_hosts_group on held_hosts (group_id);
