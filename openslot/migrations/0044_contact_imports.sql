-- Files of contacts that are being imported or were imported, and their lines.
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

create table contact_import_lines (
    import_id uuid not null references contact_imports on delete cascade,
    number integer not null,
    -- A JSON list of texts, encoded once.
    cells text not null,
    fault text check (fault in ('unreadable', 'columns', 'fields', 'duplicate')),
    -- The line that has the same e-mail address.
    first_line integer,
    email_key text,
    primary key (import_id, number)
);
create index contact_import_lines_email on contact_import_lines (import_id, email_key) where email_key is not null;
create index contact_import_lines_fault on contact_import_lines (import_id, number) where fault is not null;
