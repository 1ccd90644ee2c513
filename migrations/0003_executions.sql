-- Executions: what was processed, what it did to fills and positions, and what could not be applied.
-- Locks: creates new tables only. Safe while old code runs: yes.

-- Up Migration

create table processed_events (
  source       text        not null,
  event_type   text        not null check (event_type in ('NEW', 'FILL', 'CANCELLED', 'REJECTED', 'EXPIRED', 'BUST', 'CORRECT')),
  event_id     text        not null check (length(event_id) between 1 and 256),
  content_hash bytea       not null check (octet_length(content_hash) = 32),
  event_time   timestamptz not null,
  processed_at timestamptz not null default now(),
  constraint processed_events_pkey primary key (source, event_type, event_id)
);

comment on table processed_events is 'The dedup table: an event whose identity is here has had its effect. Rows end after the dedup window';
comment on column processed_events.content_hash is 'SHA-256 of the normalised content; the same identity with another hash is a conflict, not a repeat';
comment on column processed_events.event_time is 'The venue''s own stamp, the same on every resend';

create index processed_events_processed_at on processed_events (processed_at);

create table positions (
  account_id      text        not null,
  symbol          text        not null,
  quantity        numeric     not null,
  average_price   numeric,
  realised_profit numeric     not null default 0,
  last_sequence   bigint      not null default 0 check (last_sequence >= 0),
  updated_at      timestamptz not null default now(),
  constraint positions_pkey primary key (account_id, symbol),
  constraint positions_flat_check check ((quantity = 0) = (average_price is null))
);

comment on table positions is 'Netting positions: the fold of each account''s fills of a symbol in applied order';
comment on column positions.quantity is 'Signed: above zero is long, below zero is short';
comment on column positions.average_price is 'The only rounded figure: 18 places, ties to even. Null exactly when flat';
comment on column positions.last_sequence is 'The highest position_sequence of its fills';

create table fills (
  source             text        not null,
  execution_id       text        not null check (length(execution_id) between 1 and 256),
  account_id         text        not null,
  client_order_id    text        not null,
  symbol             text        not null,
  side               text        not null check (side in ('buy', 'sell')),
  quantity           numeric     not null check (quantity > 0),
  price              numeric     not null,
  effective_quantity numeric     not null check (effective_quantity >= 0),
  effective_price    numeric     not null,
  amended_by         text,
  executed_at        timestamptz not null,
  booked_at          timestamptz not null default now(),
  position_sequence  bigint      not null check (position_sequence > 0),
  constraint fills_execution_unique unique (source, execution_id),
  constraint fills_position_sequence_unique unique (account_id, symbol, position_sequence),
  constraint fills_order foreign key (account_id, client_order_id) references orders (account_id, client_order_id),
  constraint fills_amended_check check (
    amended_by is not null or (effective_quantity = quantity and effective_price = price))
);

comment on table fills is 'Every trade once. unique(source, execution_id) is the second line when the dedup row is already purged';
comment on column fills.quantity is 'As first reported; never changed';
comment on column fills.effective_quantity is 'What counts: zero when busted, the corrected quantity when corrected';
comment on column fills.amended_by is 'The execution id of the latest bust or correction';
comment on column fills.position_sequence is 'The order in which the position was folded; a correction keeps its fill''s place';

create index fills_order on fills (account_id, client_order_id);

create table fill_amendments (
  source            text        not null,
  execution_id      text        not null,
  event_type        text        not null check (event_type in ('BUST', 'CORRECT')),
  ref_execution_id  text        not null,
  root_execution_id text        not null,
  account_id        text        not null,
  client_order_id   text        not null,
  quantity          numeric     check (quantity > 0),
  price             numeric,
  executed_at       timestamptz not null,
  sequence          bigint      not null generated always as identity,
  constraint fill_amendments_pkey primary key (source, event_type, execution_id),
  constraint fill_amendments_content_check check (
    (event_type = 'CORRECT') = (quantity is not null and price is not null))
);

comment on table fill_amendments is 'Busts and corrections, kept also when they arrive before the fill that they refer to';
comment on column fill_amendments.root_execution_id is 'The fill at the end of the chain of references: a correction may refer to a correction';

create index fill_amendments_root on fill_amendments (source, root_execution_id, sequence);

create table parked_executions (
  source          text        not null,
  event_type      text        not null,
  execution_id    text        not null,
  account_id      text        not null,
  client_order_id text        not null,
  content_hash    bytea       not null check (octet_length(content_hash) = 32),
  execution       jsonb       not null,
  sequence        bigint      not null generated always as identity,
  parked_at       timestamptz not null default now(),
  constraint parked_executions_pkey primary key (source, event_type, execution_id, content_hash)
);

comment on table parked_executions is 'Executions of an order that does not exist here yet: applied when it appears, or adopted by an operator';

create index parked_executions_order on parked_executions (account_id, client_order_id, sequence);

create table quarantined_events (
  id               bigint      not null generated always as identity primary key,
  reason           text        not null check (reason in ('malformed', 'conflict', 'wrong_order')),
  detail           text        not null,
  source           text,
  event_type       text,
  execution_id     text,
  account_id       text,
  client_order_id  text,
  content_hash     bytea       not null check (octet_length(content_hash) = 32),
  payload          text        not null,
  other_payload    text,
  topic            text,
  topic_partition  integer,
  topic_offset     bigint,
  times_seen       integer     not null default 1 check (times_seen > 0),
  quarantined_at   timestamptz not null default now()
);

comment on table quarantined_events is 'Events that must not be applied and must not be lost; a person decides';
comment on column quarantined_events.reason is 'malformed: cannot be read; conflict: a known identity with other content; wrong_order: contradicts its order';
comment on column quarantined_events.payload is 'The event as it came; bytes that are not UTF-8 are base64 with the prefix base64:';
comment on column quarantined_events.other_payload is 'For a conflict, the content hash that was processed first';

create unique index quarantined_events_once on quarantined_events
  (reason, coalesce(source, ''), coalesce(event_type, ''), coalesce(execution_id, ''), content_hash);
