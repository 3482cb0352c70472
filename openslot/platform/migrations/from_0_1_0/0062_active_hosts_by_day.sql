-- The hosts with whom bookings were made on a day, as bits: bit n of block b stands for the host whose number is b * 1024 + n.
create table active_hosts (
    on_day date not null references kept_days on delete cascade,
    block bigint not null,
    hosts bit(1024) not null,
    primary key (on_day, block)
);
insert into active_hosts (on_day, block, hosts)
select k.on_day, u.no / 1024, bit_or(set_bit(b'0'::bit(1024), (u.no % 1024)::integer, 1))
from kept_days k
join host_months h on h.month = date_trunc('month', k.on_day::timestamp)::date
    and h.days & (1 << (extract(day from k.on_day)::integer - 1)) <> 0
join users u on u.id = h.host_id
group by 1, 2;
drop table host_months;
