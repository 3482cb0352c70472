-- What agents have reported, and how much of it lies beyond their caps: all agents' budget does not count that.

alter table agent_spend
    add column reported_micros bigint not null default 0 check (reported_micros >= 0),
    add column uncounted_micros bigint not null default 0 check (uncounted_micros >= 0);
