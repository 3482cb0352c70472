-- Whoever changes the same thing takes turns, by an advisory lock until the commit. A transaction that can be run again
-- (`openslot.turns = refuse`) is told at once whose turn it would have to wait for, so that it can wait without a
-- connection; every other waits here.
create function take_turn(kind int, no int) returns void language plpgsql as $$
begin
    if pg_try_advisory_xact_lock(kind, no) then
        return;
    end if;
    if current_setting('openslot.turns', true) = 'refuse' then
        raise lock_not_available using message = 'it is the turn of another transaction',
            detail = format('turn %s %s', kind, no);
    end if;
    perform pg_advisory_xact_lock(kind, no);
end
$$;
