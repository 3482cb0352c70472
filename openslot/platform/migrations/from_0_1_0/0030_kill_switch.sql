-- The kill switch of outgoing messages, what waits because of it, what the team chat was told, and how each agent last connected.

-- Which channels of outgoing messages are stopped, since when, by whom and why. All rows are there from the beginning: whoever
-- lets an effect wait locks the channel's row, so that it can't be resumed at the same moment.
create table switches (
    channel text primary key check (channel in ('sms', 'whatsapp', 'voice', 'email')),
    stopped_at timestamptz,
    stopped_by jsonb,
    reason text,
    check (num_nulls(stopped_at, stopped_by, reason) in (0, 3))
);
insert into switches (channel) values ('sms'), ('whatsapp'), ('voice'), ('email');

-- How the agent's program has introduced itself, and when that was.
alter table agents
    add column client_name text,
    add column client_version text,
    add column connected_at timestamptz;

-- What the team chat was told, or would have been.
create table chat_messages (
    effect_id uuid primary key references effects on delete cascade,
    at timestamptz not null,
    text text not null
);
create index chat_messages_at on chat_messages (at);

-- Messages that wait because their channel is stopped, or have waited; those that were sent afterwards are deleted from here.
create table held_effects (
    effect_id uuid primary key references effects on delete cascade,
    channel text not null references switches,
    -- The attempt that waits; if the effect has another one, it was planned anew meanwhile.
    round integer not null,
    -- When it was due: its place in the order in which they are sent.
    due_at timestamptz not null,
    held_at timestamptz not null,
    released_at timestamptz
);
create index held_effects_waiting on held_effects (channel, released_at);
