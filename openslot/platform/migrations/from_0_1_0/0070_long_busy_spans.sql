-- openslot: no transaction
-- Of the spans that begin before the end of what is asked for, only those of more than a day end more than a day after
-- it: without them, a start is judged by the spans around it alone, however far a calendar was read ahead.
drop index concurrently if exists busy_spans_long;
create index concurrently busy_spans_long on busy_spans (host_no, end_second, start_second)
    where end_second - start_second > 86400;
