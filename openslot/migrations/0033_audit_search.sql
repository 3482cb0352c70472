-- openslot: no transaction
-- The agents' audit search lists events by time, and those that one agent has caused.

create index concurrently if not exists events_at on events (at, no);
create index concurrently if not exists events_agent on events ((actor ->> 'agent'), at, no)
    where actor ->> 'agent' is not null;
