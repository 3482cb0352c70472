-- Whether the agent that asks has read texts that hosts, invitees or others have typed, since a person last approved one of its calls.
alter table approvals add column has_read_texts boolean;
