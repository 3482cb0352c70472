-- When the minute's job last looked at those who wait for a host, and after whom it goes on; null: from the first.
create table wait_list_turns (
    host_id uuid primary key references users on delete cascade,
    looked_at timestamptz not null,
    created_at timestamptz,
    entry_id uuid
);
