-- The people who book.

create table contacts (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    name text not null,
    email text not null,
    phone text,
    company text,
    notes text,
    tags text[] not null default '{}',
    -- Name, e-mail address and company, each on its line, folded: what a search looks into.
    search_text text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create unique index contacts_email on contacts (owner_id, lower(email));
create index contacts_order on contacts (owner_id, created_at desc, id desc);
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
-- Guesses about single trigrams would only lead the planner away from the index.
alter index contacts_search alter column 1 set statistics 0;
