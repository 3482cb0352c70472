-- What every domain uses.

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
comment on function take_turn is
    'Whoever changes the same thing takes turns, by an advisory lock until the commit. A transaction that can be '
    'run again (`openslot.turns = refuse`) is told at once whose turn it would have to wait for, so that it can '
    'wait without a connection; every other waits here.';

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
comment on function canonical_recipient is
    'One mailbox has many addresses: limits count letter case, a tag behind `+`, and dots at Gmail as the same '
    'recipient. Stored addresses, and those that mail is sent to, stay as they are.';

create function utc_day(moment timestamptz) returns date language sql immutable strict parallel safe as $$
    select (moment at time zone 'UTC')::date
$$;
comment on function utc_day is 'Tells on which day in UTC a moment is.';

create table data_keys (
    no smallint primary key,
    sealed bytea not null,
    -- Names the secret key that sealed it, without telling anything about it.
    sealed_by bytea not null,
    created_at timestamptz not null
);
comment on table data_keys is
    'The keys that sign links and seal what is stored, themselves sealed by the secret key. The first one signs, '
    'every one verifies.';

create table allowances (
    -- The cost, the cause and, if it is narrower, what for.
    bucket text collate "C" primary key,
    -- How many microseconds one part of the window lasts, and the number of the newest part since 1970.
    width bigint not null,
    part bigint not null,
    -- The amount of each part, the newest last.
    spent integer[] not null,
    -- How much was allowed when it was last asked, and whether that was given.
    most integer not null,
    given boolean not null,
    kept_until timestamptz not null
) with (fillfactor = 50);
comment on table allowances is
    'How much one cause has spent of one cost within a sliding window. What is not spent again is removed when it '
    'is over.';
create index allowances_end on allowances (kept_until);
