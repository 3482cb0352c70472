-- Accounts that their owners delete: closed at once, and erased when everything that follows from it has happened.

alter table users add column deleting_since timestamptz;

-- The row stays after the user's is gone, as a record without personal data; so it references nothing.
create table account_deletions (
    user_id uuid primary key,
    state text not null check (state in ('cancelling', 'waiting', 'telling', 'erasing', 'done')),
    requested_at timestamptz not null,
    -- Who asked for it, and what invitees are told; until it is done.
    requested_by jsonb,
    message text,
    -- From then on nothing is waited for any more.
    finish_by timestamptz not null,
    cancelled_bookings integer not null default 0,
    finished_at timestamptz,
    check ((state = 'done') = (finished_at is not null)),
    check (state <> 'done' or (requested_by is null and message is null))
);
create index account_deletions_under_way on account_deletions (requested_at) where state <> 'done';
