-- Codes are asked for and guessed by networks: what one of them does takes nothing from another.

-- Names the network that asked for the code, signed with the installation's key; null: it was asked for before this.
alter table email_codes add column asked_by bytea;
-- Of everybody but this network; `wrong_tries` are its own.
alter table email_codes add column wrong_tries_of_others integer not null default 0;
