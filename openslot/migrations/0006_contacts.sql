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
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create unique index contacts_email on contacts (owner_id, lower(email));
create index contacts_order on contacts (owner_id, created_at desc, id desc);
create index contacts_phone on contacts (owner_id, phone) where phone is not null;
