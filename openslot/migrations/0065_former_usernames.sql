-- Former usernames: reserved for their owner for 180 days, and nobody's for as long once the account is deleted.

create table former_usernames (
    -- Of the lower-case name; all that is kept of a deleted account.
    name_hash bytea primary key,
    user_id uuid references users on delete cascade,
    name text,
    -- Whether links with this name lead to the owner's page.
    leads boolean not null default true,
    left_at timestamptz not null,
    reserved_until timestamptz not null,
    check ((user_id is null) = (name is null))
);
create index former_usernames_user on former_usernames (user_id);
create index former_usernames_end on former_usernames (reserved_until);

create function hash_username(username text) returns bytea language sql immutable strict parallel safe as $$
    select sha256(convert_to(lower(username), 'UTF8'))
$$;

-- Runs after the row is in the unique index: whoever had the name in a transaction that was still running has
-- committed by then, and what that transaction has reserved is seen here.
create function reserve_username() returns trigger language plpgsql as $$
begin
    if exists (
        select from former_usernames
        where name_hash = hash_username(new.username) and user_id is distinct from new.id
          and reserved_until > new.updated_at
    ) then
        raise unique_violation using message = 'the username is reserved', constraint = 'users_username_reserved';
    end if;
    delete from former_usernames where name_hash = hash_username(new.username);
    if tg_op = 'UPDATE' then
        insert into former_usernames (name_hash, user_id, name, left_at, reserved_until) values (
            hash_username(old.username), new.id, lower(old.username), new.updated_at,
            new.updated_at + interval '180 days')
        on conflict (name_hash) do update set user_id = excluded.user_id, name = excluded.name, leads = true,
            left_at = excluded.left_at, reserved_until = excluded.reserved_until;
    end if;
    return null;
end $$;

create function keep_username_of_deleted() returns trigger language plpgsql as $$
begin
    update former_usernames set user_id = null, name = null, leads = false where user_id = old.id;
    insert into former_usernames (name_hash, leads, left_at, reserved_until)
    values (hash_username(old.username), false, old.updated_at, old.updated_at + interval '180 days')
    on conflict (name_hash) do nothing;
    return old;
end $$;

create trigger users_added after insert on users for each row execute function reserve_username();
create trigger users_renamed after update of username on users for each row
    when (lower(old.username) <> lower(new.username)) execute function reserve_username();
create trigger users_deleted before delete on users for each row execute function keep_username_of_deleted();
