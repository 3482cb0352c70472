-- Codes by mail with which invitees prove their address before they book.

-- Whether invitees enter a code that is sent to their address before they can book.
alter table event_types add column requires_email_verification boolean not null default false;

create table email_codes (
    id uuid primary key,
    event_type_id uuid not null references event_types on delete cascade,
    email text not null,
    -- The language of the mail; null: the host's.
    locale text,
    -- Signed with the installation's key; the code itself is stored nowhere.
    hash bytea not null,
    wrong_tries integer not null default 0,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at timestamptz
);
create index email_codes_type on email_codes (event_type_id, lower(email));
create index email_codes_canonical on email_codes (canonical_recipient(email), created_at);
create index email_codes_expiry on email_codes (expires_at);
