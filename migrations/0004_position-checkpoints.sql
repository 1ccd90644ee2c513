-- Positions over time: every change with the execution that caused it, and checkpoints, so that a bust or a correction
-- does not read an account's whole history again. Fills that are older than this migration get no change rows; missing
-- checkpoints are written by the first bust or correction that passes them.
-- Locks: creates new tables, and for a moment takes `positions` alone to add a column with a constant default.
-- Safe while old code runs: to read and to book fills, yes. An amendment that old code books leaves checkpoints as they
-- are, so stop the old order workers before the new ones start (`tekil positions verify` would show the difference).

-- Up Migration

alter table positions
  add column change_count bigint not null default 0 check (change_count >= 0);

comment on column positions.change_count is 'How many rows position_changes has of this position';

create table position_changes (
  account_id      text        not null,
  symbol          text        not null,
  sequence        bigint      not null check (sequence > 0),
  source          text        not null,
  event_type      text        not null check (event_type in ('FILL', 'BUST', 'CORRECT')),
  execution_id    text        not null,
  client_order_id text        not null,
  quantity        numeric     not null,
  average_price   numeric,
  realised_profit numeric     not null,
  recorded_at     timestamptz not null default now(),
  constraint position_changes_pkey primary key (account_id, symbol, sequence),
  constraint position_changes_position foreign key (account_id, symbol) references positions (account_id, symbol),
  constraint position_changes_flat_check check ((quantity = 0) = (average_price is null))
);

comment on table position_changes is 'What a position was after each execution that changed it, as it was known then; rows are only ever added';
comment on column position_changes.sequence is 'Counts from 1 in each position, without a gap';

create table position_checkpoints (
  account_id        text    not null,
  symbol            text    not null,
  position_sequence bigint  not null check (position_sequence > 0),
  quantity          numeric not null,
  average_price     numeric,
  realised_profit   numeric not null,
  constraint position_checkpoints_pkey primary key (account_id, symbol, position_sequence),
  constraint position_checkpoints_position foreign key (account_id, symbol) references positions (account_id, symbol),
  constraint position_checkpoints_flat_check check ((quantity = 0) = (average_price is null))
);

comment on table position_checkpoints is 'The fold of a position''s fills up to a place; rewritten when an earlier fill is amended. May be deleted: only speed is lost';
comment on column position_checkpoints.position_sequence is 'It holds the fills up to this place; a multiple of 256';
