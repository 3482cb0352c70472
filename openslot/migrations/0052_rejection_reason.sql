-- Why a person has rejected an agent's call; the agent is told.
alter table approvals add column reason text;
