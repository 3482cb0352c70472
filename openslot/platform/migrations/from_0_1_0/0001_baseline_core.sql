-- What every domain uses.

-- Whoever changes the same thing takes turns, by an advisory lock until the commit. A transaction that can be run again
-- (`openslot.turns = refuse`) is told at once whose turn it would have to wait for, so that it can wait without a
-- connection; every other waits here.
create function take_turn(kind int, no int) returns void language plpgsql as $$
begin
    if pg_try_advisory_xact_lock(kind, no) then
        return;
    end if;
    if current_setting('openslot.turns', true) = 'refuse' then
        raise lock_not_available using message = 'it is the turn of another transaction',
            detail = format('turn %s %s', kind, no);
    end if;
    perform pg_advisory_xact_lock(kind, no);
end
$$;

-- One mailbox has many addresses: limits count letter case, a tag behind `+`, and dots at Gmail as the same recipient.
-- Stored addresses, and those that mail is sent to, stay as they are.
create function canonical_recipient(address text) returns text language sql immutable strict parallel safe as $$
select case
    when parts.domain in ('gmail.com', 'googlemail.com') then replace(parts.base, '.', '') || '@gmail.com'
    else parts.base || '@' || parts.domain
end
from (
    select coalesce(nullif(split_part(split.local, '+', 1), ''), split.local) as base, split.domain
    from (
        select regexp_replace(lower(address), '@[^@]*$', '') as local,
            substring(lower(address) from '[^@]*$') as domain
    ) split
) parts
$$;

-- The keys that sign links and seal what is stored, themselves sealed by the secret key. The first one signs, every one
-- verifies.
create table data_keys (
    no smallint primary key,
    sealed bytea not null,
    -- Names the secret key that sealed it, without telling anything about it.
    sealed_by bytea not null,
    created_at timestamptz not null
);
