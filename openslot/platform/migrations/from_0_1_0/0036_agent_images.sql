-- Images that agents have had made, until they expire. They are compressed already, so the database does not try again.
create table agent_images (
    id uuid primary key,
    at timestamptz not null,
    expires_at timestamptz not null,
    agent text not null,
    audit_id uuid not null,
    width integer not null,
    height integer not null,
    body bytea not null
);
alter table agent_images alter column body set storage external;
create index agent_images_age on agent_images (expires_at);
