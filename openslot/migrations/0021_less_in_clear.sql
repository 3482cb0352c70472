-- Columns for what is no longer kept in the clear: sealed by a data key, or only as a hash.

alter table event_types add column private_hash bytea, add column private_sealed bytea;

-- Processes of the release before write the token itself; its hash follows. Later ones write the hash, and in place of
-- the token a line that no request can name, so that the event type stays private for those before.
create function hash_private_token() returns trigger language plpgsql as $$
declare
    hash bytea := sha256(convert_to(new.private_token, 'UTF8'));
begin
    if new.private_token is null then
        new.private_hash := null;
        new.private_sealed := null;
    elsif new.private_token <> E'kept as a hash only\n' and new.private_hash is distinct from hash then
        new.private_hash := hash;
        new.private_sealed := null;
    end if;
    return new;
end $$;
create trigger event_types_private before insert or update of private_token on event_types
    for each row execute function hash_private_token();

alter table idempotency add column sealed bytea;
alter table webhook_messages add column sealed bytea, alter column body drop not null;
