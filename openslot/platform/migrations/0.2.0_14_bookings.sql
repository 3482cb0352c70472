-- Meetings that were made, were asked for, or are waited for.

create table bookings (
    id uuid primary key,
    host_id uuid not null references users on delete cascade,
    event_type_id uuid not null references event_types,
    contact_id uuid references contacts on delete set null,
    claim_id uuid not null references claims,
    seat_id uuid references claim_seats,
    status text not null check (status in ('CONFIRMED', 'CANCELLED', 'PENDING_PAYMENT', 'PENDING_CONFIRMATION')),
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    invitee_name text not null,
    invitee_email text not null,
    invitee_zone text not null,
    -- The language in which the invitee is written to; null: the host's.
    invitee_locale text,
    notes text,
    location jsonb not null,
    answers jsonb not null,
    guests text[] not null default '{}',
    payment jsonb,
    -- Counts the changes, for calendar programs.
    sequence integer not null default 0,
    reschedule_count integer not null default 0,
    previous_starts_at timestamptz,
    cancelled_at timestamptz,
    cancel_reason text,
    cancelled_by text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- Whether the invitee did not come, as the host has marked it.
    no_show boolean not null default false,
    -- What only the host reads: no fact, mail or webhook has it.
    private_notes text,
    -- Where the visitor who booked came from, as visits are counted; null: not booked by a page, or before it was recorded.
    -- It is the host's: no fact, mail or webhook has it.
    source text,
    -- What the bookings that were made at once have in common; null: it was made alone.
    series_id uuid,
    -- Whether the invitee's address was proven when it was booked: by a code, a session or the link of a mail. Null: by an
    -- earlier release, or it was not asked for.
    email_proven boolean,
    check (starts_at < ends_at),
    check ((status = 'CANCELLED') = (cancelled_at is not null))
);
comment on table bookings is 'Each booking, with the invitee as they were when they booked.';
create index bookings_host on bookings (host_id, starts_at desc, id desc) include (status);
create index bookings_contact on bookings (contact_id, starts_at desc);
create index bookings_event_type on bookings (event_type_id);
create index bookings_claim on bookings (claim_id);
create index bookings_seat on bookings (seat_id) where seat_id is not null;
-- Who counts a day reads these. The other tables have such an index already.
create index bookings_made on bookings (created_at);
create index bookings_cancelled on bookings (cancelled_at) where cancelled_at is not null;
create index bookings_series on bookings (series_id) where series_id is not null;
-- The figures of a day count its meetings and no-shows: with the mark in the index they need no row of the table.
create index bookings_by_start on bookings (starts_at desc, id desc) include (status, no_show);

create function drop_private_notes() returns trigger language plpgsql as $$
begin
    new.private_notes := null;
    return new;
end $$;
comment on function drop_private_notes is
    'Drops what the host has noted about a person together with the contact. A contact that is deleted leaves its '
    'bookings by the foreign key, so the database sees to it itself.';

create trigger bookings_contact_deleted before update of contact_id on bookings
    for each row when (old.contact_id is not null and new.contact_id is null and old.private_notes is not null)
    execute function drop_private_notes();
comment on trigger bookings_contact_deleted on bookings is
    'A booking that loses its contact loses what the host has noted about the person.';

create table booking_counts (
    host_id uuid not null references users on delete cascade,
    status text not null,
    bookings bigint not null,
    primary key (host_id, status)
) with (fillfactor = 50);
comment on table booking_counts is
    'How many bookings of each status a host has. The database keeps it itself, so that no process can forget to. '
    'Whoever changes a host''s bookings holds the host''s lock already: nobody waits for these rows.';

create function count_added_bookings() returns trigger language plpgsql as $$
begin
    insert into booking_counts as c (host_id, status, bookings)
    select host_id, status, count(*) from added group by host_id, status order by host_id, status
    on conflict (host_id, status) do update set bookings = c.bookings + excluded.bookings;
    return null;
end $$;
comment on function count_added_bookings is
    'Counts bookings that were added into booking_counts, by host and status, so that no process can forget to.';

create function count_deleted_bookings() returns trigger language plpgsql as $$
begin
    update booking_counts c set bookings = c.bookings - d.bookings
    from (select host_id, status, count(*) as bookings from deleted group by host_id, status) d
    where c.host_id = d.host_id and c.status = d.status;
    return null;
end $$;
comment on function count_deleted_bookings is
    'Takes bookings that were deleted out of booking_counts. It only updates: with its host''s account, a host''s '
    'counts may be gone before the bookings are.';

create function count_changed_booking() returns trigger language plpgsql as $$
begin
    update booking_counts set bookings = bookings - 1 where host_id = old.host_id and status = old.status;
    insert into booking_counts as c (host_id, status, bookings) values (new.host_id, new.status, 1)
    on conflict (host_id, status) do update set bookings = c.bookings + 1;
    return null;
end $$;
comment on function count_changed_booking is 'Moves a booking in booking_counts from one host or status to another.';

create function count_no_bookings() returns trigger language plpgsql as $$
begin
    delete from booking_counts;
    return null;
end $$;
comment on function count_no_bookings is 'Empties booking_counts with the bookings.';

create trigger bookings_added after insert on bookings referencing new table as added
    for each statement execute function count_added_bookings();
comment on trigger bookings_added on bookings is 'The number of bookings is counted as they are made.';

create trigger bookings_deleted after delete on bookings referencing old table as deleted
    for each statement execute function count_deleted_bookings();
comment on trigger bookings_deleted on bookings is 'The number of bookings is counted as they are deleted.';

create trigger bookings_changed after update of status, host_id on bookings
    for each row when (old.status <> new.status or old.host_id <> new.host_id)
    execute function count_changed_booking();
comment on trigger bookings_changed on bookings is
    'The number of bookings is counted as their status or host changes.';

create trigger bookings_truncated after truncate on bookings
    for each statement execute function count_no_bookings();
comment on trigger bookings_truncated on bookings is 'The number of bookings is gone with all of them.';

create table booking_history (
    booking_id uuid not null references bookings on delete cascade,
    no bigint not null,
    type text not null,
    at timestamptz not null,
    actor jsonb not null,
    primary key (booking_id, no)
);
comment on table booking_history is
    'What happened to a booking, when and by whom, once the events themselves are too old to be kept.';

create table booking_requests (
    booking_id uuid primary key references bookings on delete cascade,
    host_id uuid not null references users on delete cascade,
    state text not null check (state in ('waiting', 'confirmed', 'declined', 'lapsed', 'withdrawn')),
    -- Until when the host can answer.
    lapses_at timestamptz not null,
    -- Why it was declined; null: the host has not said.
    reason text,
    ended_at timestamptz,
    -- Any host of a team, its managers and the owner of the event type answer, and the first answer counts.
    answered_by uuid references users on delete set null,
    check ((state = 'waiting') = (ended_at is null))
);
comment on table booking_requests is
    'What an invitee has asked for and the host has to confirm. The booking waits as PENDING_CONFIRMATION, with '
    'its time taken; it stays so if the request ends in any other way than by a confirmation.';
create index booking_requests_host on booking_requests (host_id);
create index booking_requests_waiting on booking_requests (lapses_at) where state = 'waiting';
create index booking_requests_ended on booking_requests (ended_at) where state not in ('waiting', 'confirmed');
create index booking_requests_answered_by on booking_requests (answered_by) where answered_by is not null;

create table booking_link_uses (
    booking_id uuid primary key references bookings on delete cascade,
    link_id uuid not null references booking_links on delete cascade,
    active boolean not null default true
);
comment on table booking_link_uses is
    'Which bookings were made through a link. One that ended before it was a booking has given its use back.';
create index booking_link_uses_link on booking_link_uses (link_id);

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
comment on table wait_list_entries is 'Who waits for a day or a session that is full.';
create index wait_list_entries_host on wait_list_entries (host_id, created_at);
create index wait_list_entries_type on wait_list_entries (event_type_id);
create index wait_list_entries_over on wait_list_entries (until);
create index wait_list_entries_asked on wait_list_entries (asked_at) where state = 'unproven';
-- An address waits once for the same thing.
create unique index wait_list_entries_once
    on wait_list_entries (event_type_id, lower(email), day, coalesce(starts_at, '-infinity')) where state <> 'booked';

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
comment on table wait_list_offers is
    'A free time that is kept for one person. Its time is a claim of kind ''offer'', or a seat of a session.';
create index wait_list_offers_claim on wait_list_offers (claim_id);
create index wait_list_offers_seat on wait_list_offers (seat_id);
create index wait_list_offers_host on wait_list_offers (host_id);
-- One live offer for each person.
create unique index wait_list_offers_live on wait_list_offers (host_id, lower(email)) where state = 'offered';

create table wait_list_turns (
    host_id uuid primary key references users on delete cascade,
    looked_at timestamptz not null,
    created_at timestamptz,
    entry_id uuid
);
comment on table wait_list_turns is
    'When the minute''s job last looked at those who wait for a host, and after whom it goes on; null: from the '
    'first.';
