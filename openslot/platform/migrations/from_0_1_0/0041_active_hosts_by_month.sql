-- The days of a month on which bookings were made with a host, as the bits of a number: bit 0 is the first day. Only bits of
-- `kept_days` count.
create table host_months (
    month date not null,
    host_id uuid not null references users on delete cascade,
    days integer not null,
    primary key (month, host_id)
);
create index host_months_host on host_months (host_id);
insert into host_months (month, host_id, days)
select date_trunc('month', on_day)::date, host_id, bit_or(1 << (extract(day from on_day)::integer - 1))
from host_days group by 1, 2;
drop table host_days;
