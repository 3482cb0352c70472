-- What a host's page shows beside the name: a welcome text and a photo.

alter table users add column welcome text, add column photo text;

-- The photo itself; `users.photo` is its hash, which is also its address.
create table photos (
    user_id uuid primary key references users on delete cascade,
    hash text not null,
    body bytea not null,
    updated_at timestamptz not null
);
create index photos_hash on photos (hash);
