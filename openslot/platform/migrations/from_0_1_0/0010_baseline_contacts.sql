-- The people who book.

-- A host's contacts.
create table contacts (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    name text not null,
    email text not null,
    phone text,
    company text,
    notes text,
    tags text[] not null default '{}',
    -- Name, email address and company, each on its line, folded: what a search looks into.
    search_text text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create unique index contacts_email on contacts (owner_id, lower(email));
create index contacts_order on contacts (owner_id, created_at desc, id desc);
-- In the order of their names; the folded text begins with the name.
create index contacts_by_name on contacts (owner_id, left(search_text, 100), id);
create index contacts_phone on contacts (owner_id, phone) where phone is not null;

-- A trigram as a number whose upper half is the owner's: so one index serves each owner as if it were the owner's own,
-- whoever else has how many. Two trigrams that share a number cost a look at the row, never a wrong answer.
create function contact_gram(owner_id uuid, gram text) returns bigint
    language sql immutable parallel safe
    return (uuid_hash(owner_id)::bigint << 32) | (hashtext(gram)::bigint & 4294967295);
-- The trigrams of every line; too dear to be worked out for each row that a search looks at.
create function contact_grams(owner_id uuid, lines text) returns bigint[]
    language sql immutable parallel safe cost 10000
    return array(
        select contact_gram(owner_id, substr(line, n, 3))
        from unnest(string_to_array(lines, E'\n')) line, generate_series(1, length(line) - 2) n
    );
-- A long list of entries that still have to be sorted in would slow every search down.
create index contacts_search on contacts using gin (contact_grams(owner_id, search_text))
    with (fastupdate = on, gin_pending_list_limit = 128);
-- The trigrams of everyone's contacts, without an owner.
create index contacts_search_all on contacts
    using gin (contact_grams('00000000-0000-0000-0000-000000000000'::uuid, search_text)) with (fastupdate = on);
-- Guesses about single trigrams would only lead the planner away from the indexes.
alter index contacts_search alter column 1 set statistics 0;
alter index contacts_search_all alter column 1 set statistics 0;

-- How many contacts there are, as the sum of all rows. The database keeps it itself, so that no process can forget to. Each
-- connection counts in a row of its own, by its process: nobody who adds a contact waits for another who does.
create table contact_counts (
    stripe integer primary key,
    contacts bigint not null
) with (fillfactor = 50);

create function count_contacts(more bigint) returns void language sql as $$
    insert into contact_counts as c (stripe, contacts) values (pg_backend_pid() % 1024, more)
    on conflict (stripe) do update set contacts = c.contacts + excluded.contacts;
$$;
create function count_added_contacts() returns trigger language plpgsql as $$
begin
    perform count_contacts((select count(*) from added));
    return null;
end $$;
create function count_deleted_contacts() returns trigger language plpgsql as $$
begin
    perform count_contacts(-(select count(*) from deleted));
    return null;
end $$;
create function count_no_contacts() returns trigger language plpgsql as $$
begin
    delete from contact_counts;
    return null;
end $$;
create trigger contacts_added after insert on contacts referencing new table as added
    for each statement execute function count_added_contacts();
create trigger contacts_deleted after delete on contacts referencing old table as deleted
    for each statement execute function count_deleted_contacts();
create trigger contacts_truncated after truncate on contacts
    for each statement execute function count_no_contacts();

-- Files of contacts that are being imported or were imported.
create table contact_imports (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    file_name text not null,
    encoding text not null,
    delimiter text not null,
    -- The names of the columns; empty texts if the file has none.
    header text[] not null,
    -- What each column holds: a field of a contact, or an empty text.
    columns text[] not null,
    existing text not null check (existing in ('update', 'skip')),
    state text not null check (state in ('draft', 'running', 'done')),
    line_count integer not null,
    -- The number of the last line that was handled.
    position integer not null default 0,
    handled integer not null default 0,
    added integer not null default 0,
    updated integer not null default 0,
    unchanged integer not null default 0,
    bad integer not null default 0,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    finished_at timestamptz
);
create index contact_imports_owner on contact_imports (owner_id, created_at desc, id desc);
create index contact_imports_age on contact_imports (updated_at);

-- The lines of such a file.
create table contact_import_lines (
    import_id uuid not null references contact_imports on delete cascade,
    number integer not null,
    -- A JSON list of texts, encoded once.
    cells text not null,
    fault text check (fault in ('unreadable', 'columns', 'fields', 'duplicate')),
    -- The line that has the same email address.
    first_line integer,
    email_key text,
    primary key (import_id, number)
);
create index contact_import_lines_email on contact_import_lines (import_id, email_key) where email_key is not null;
create index contact_import_lines_fault on contact_import_lines (import_id, number) where fault is not null;
