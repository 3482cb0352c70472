-- Which mails a host has switched on or off; without a row the default holds.

create table notification_choices (
    user_id uuid not null references users on delete cascade,
    topic text not null,
    is_on boolean not null,
    updated_at timestamptz not null,
    primary key (user_id, topic)
);
