-- A calendar's server can invite those who take part in a booking; then Openslot's own mails have no invitation.

alter table calendar_connections add column invites boolean not null default false;

-- One row for each booking that a calendar invites to; for all others, Openslot does.
create table calendar_invitations (
    booking_id uuid primary key references bookings on delete cascade,
    -- Null: it is gone.
    calendar_id uuid references calendars on delete set null,
    -- By when the calendar has to have invited to the booking as it is; null: it has.
    due_at timestamptz,
    -- How new the booking was when the calendar had not invited in time: Openslot invites to it from there on.
    left_at timestamptz
);
create index calendar_invitations_calendar on calendar_invitations (calendar_id);
create index calendar_invitations_due on calendar_invitations (due_at) where due_at is not null;
