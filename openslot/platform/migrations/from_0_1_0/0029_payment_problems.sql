-- What reviews have found about payments, before their first release.

-- Several things at once can need a person: each is kept until it is over.
alter table payments add column problems text[] not null default '{}';
update payments set problems = array[problem] where problem is not null;
alter table payments drop column problem;
-- A request for a checkout is repeated by the same step, never by another one.
alter table payments drop column attempt;
-- Until when invitees who cancel get everything back, where the booking was moved; null: what the policy says of its start.
alter table payments add column refund_until timestamptz;
-- Whether it was asked for as all that is left: if less is left by then, that goes back.
alter table refunds add column is_rest boolean not null default false;

-- Bookings that nobody paid for, and nobody can pay for any more, do not keep their event type from being deleted.
create function delete_unpaid_bookings() returns trigger language plpgsql as $$
begin
    delete from bookings b using payments p
    where b.event_type_id = old.id and b.status = 'PENDING_PAYMENT'
      and p.booking_id = b.id and p.state = 'released' and p.next_read_at is null;
    return old;
end $$;
create trigger event_type_ends before delete on event_types for each row execute function delete_unpaid_bookings();
