-- openslot: no transaction
-- Calls through connected numbers: each is kept once, and its recording may be told before it has ended.

drop index concurrently if exists calls_connection_vendor;
create unique index concurrently calls_connection_vendor on calls (connection_id, vendor_id)
    where connection_id is not null;
drop index concurrently if exists calls_connection;

-- Recordings of calls that are not known yet, because the provider tells of both in any order.
create table if not exists call_recordings (
    id uuid primary key,
    connection_id uuid not null references messaging_connections on delete cascade,
    -- The provider's id of the call.
    call_id text not null,
    -- Sealed: what the provider finds it by.
    ref bytea not null,
    received_at timestamptz not null,
    constraint call_recordings_call unique (connection_id, call_id)
);
create index if not exists call_recordings_age on call_recordings (received_at);

-- Transcripts are deleted at the provider as recordings are.
create or replace function keep_recording_erasure() returns trigger language plpgsql as $$
begin
    insert into message_erasures (id, behalf_of, provider, account, token, ref)
    select gen_random_uuid(), coalesce(c.user_id, c.organization_id), c.provider, c.account, c.token, found.ref
    from messaging_connections c, unnest(array[old.recording, old.transcript]) as found (ref)
    where c.id = old.connection_id and c.token is not null and found.ref is not null;
    return old;
end $$;
-- Before the deletion: with a user, the calls go first, and what comes after finds no connection any more.
create or replace trigger recording_is_kept_for_erasure before delete on calls for each row
    when (old.connection_id is not null and num_nonnulls(old.recording, old.transcript) > 0)
    execute function keep_recording_erasure();
drop trigger if exists recording_is_erased on calls;

create or replace function keep_connection_erasures() returns trigger language plpgsql as $$
begin
    insert into message_erasures (id, behalf_of, provider, account, token, vendor_id, ref)
    select gen_random_uuid(), old.user_id, old.provider, old.account, old.token, found.vendor_id, found.ref
    from (select m.vendor_id, null::bytea as ref from messages m
          where m.connection_id = old.id and m.vendor_id is not null
          union all
          select null, k.recording from calls k where k.connection_id = old.id and k.recording is not null
          union all
          select null, k.transcript from calls k where k.connection_id = old.id and k.transcript is not null
          union all
          select null, r.ref from call_recordings r where r.connection_id = old.id) found;
    return old;
end $$;
