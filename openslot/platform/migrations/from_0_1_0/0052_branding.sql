-- Whether the pages of a host say below that they are powered by Openslot.
alter table users add column shows_footer boolean not null default true;

-- The logo and the cover of a host's pages, re-encoded like photos; the hash is also the address.
create table brand_images (
    user_id uuid not null references users on delete cascade,
    kind text not null check (kind in ('logo', 'cover')),
    hash text not null,
    width integer not null,
    height integer not null,
    body bytea not null,
    updated_at timestamptz not null,
    primary key (user_id, kind)
);
create index brand_images_hash on brand_images (hash);
