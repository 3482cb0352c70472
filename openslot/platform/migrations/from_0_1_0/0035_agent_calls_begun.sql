-- Calls of tools that run without a transaction, until they end: if the process dies, their audit record is written from here.
create table agent_calls_begun (
    id uuid primary key,
    at timestamptz not null,
    record jsonb not null
);
create index agent_calls_begun_age on agent_calls_begun (at);
