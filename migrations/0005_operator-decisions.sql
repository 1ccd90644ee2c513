-- What operators decide about events that were set aside, and which API keys may decide.
-- Locks: an exclusive lock on parked_executions, quarantined_events and api_keys, for as long as adding a column takes;
-- the index on parked_executions is built under it, and that table is small.
-- Safe while old code runs: yes; but decide nothing until it is gone, since old code applies a discarded execution when
-- its order appears.

-- Up Migration

create table operator_decisions (
  id              bigint      not null generated always as identity primary key,
  decision        text        not null check (decision in ('replay', 'adopt', 'discard')),
  reason          text        not null check (length(reason) between 1 and 1000),
  decided_by      text        not null check (length(decided_by) between 1 and 256),
  outcome         text        not null check (outcome in ('applied', 'duplicate', 'outside_window', 'parked', 'discarded')),
  account_id      text,
  client_order_id text,
  decided_at      timestamptz not null default now(),
  constraint operator_decisions_discard_check check ((decision = 'discard') = (outcome = 'discarded')),
  constraint operator_decisions_order_check check (
    (decision = 'discard') = (account_id is null) and (account_id is null) = (client_order_id is null))
);

comment on table operator_decisions is 'One row for each event that a person decided about; never changed, never removed';
comment on column operator_decisions.outcome is 'What came of it: a verdict of the transaction that applied it, or discarded';
comment on column operator_decisions.account_id is 'With client_order_id the order that it was applied to; null for a discard';

alter table quarantined_events add column decision_id bigint references operator_decisions (id);
alter table parked_executions add column decision_id bigint references operator_decisions (id);

comment on column quarantined_events.decision_id is 'Null while nobody has decided. The row stays: a repeat of the event is known by it';
comment on column parked_executions.decision_id is 'Null while it waits for its order. A decided one stays, is never applied by itself, and makes its repeats known';

create unique index parked_executions_sequence on parked_executions (sequence);
create index quarantined_events_open on quarantined_events (quarantined_at desc, id desc) where decision_id is null;
create index quarantined_events_order on quarantined_events (account_id, client_order_id, id) where decision_id is null;

alter table api_keys add column scope text not null default 'account' check (scope in ('account', 'operator'));

comment on column api_keys.scope is 'account: reads and writes of its account; operator: also decides about events that were set aside, of every account';
