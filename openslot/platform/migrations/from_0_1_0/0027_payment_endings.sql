-- What is still to be done at the payment provider for connections that are gone: endpoints to remove, and checkouts
-- that nobody may pay for any more. The key is kept, sealed, until it is done.
create table payment_endings (
    id uuid primary key,
    -- The user or organization on whose behalf it is done, which may be gone too.
    behalf_of uuid not null,
    key bytea not null,
    endpoint_id text,
    sessions text[] not null default '{}',
    ended_at timestamptz not null
);
create index payment_endings_age on payment_endings (ended_at);

-- Whoever deletes an account or an organization need not know that it was connected.
create function keep_payment_ending() returns trigger language plpgsql as $$
declare
    open_sessions text[] := array(
        select session_id from payments
        where connection_id = old.id and state in ('opening', 'open') and session_id is not null);
begin
    if old.endpoint_id is not null or open_sessions <> '{}' then
        insert into payment_endings (id, behalf_of, key, endpoint_id, sessions, ended_at)
        values (gen_random_uuid(), coalesce(old.user_id, old.organization_id), old.key, old.endpoint_id,
                open_sessions, now());
    end if;
    return old;
end $$;
create trigger payment_connection_ends before delete on payment_connections for each row
    when (old.key is not null) execute function keep_payment_ending();
