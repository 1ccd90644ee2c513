-- The idempotency keys with their stored answers, the orders, and each order's timeline.
-- Locks: creates new tables only. Safe while old code runs: yes.

-- Up Migration

create table idempotency_keys (
  account_id      text        not null,
  client_order_id text        not null,
  request_hash    bytea       not null check (octet_length(request_hash) = 32),
  request_id      text        not null,
  status_code     integer     not null check (status_code in (201, 409)),
  answer          json        not null,
  created_at      timestamptz not null default now(),
  constraint idempotency_keys_pkey primary key (account_id, client_order_id)
);

comment on table idempotency_keys is 'One row a logical order: the first answer, given again to every repeat';
comment on column idempotency_keys.request_hash is 'SHA-256 of the normalised request; another hash under the same key is an error';
comment on column idempotency_keys.request_id is 'The HTTP request that was first; every other one is a repeat';
comment on column idempotency_keys.answer is 'json, not jsonb: the text is kept byte for byte';

create table orders (
  id                   bigint      not null generated always as identity,
  account_id           text        not null check (account_id ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$'),
  client_order_id      text        not null check (length(client_order_id) between 1 and 128),
  request_hash         bytea       not null check (octet_length(request_hash) = 32),
  symbol               text        not null check (length(symbol) between 1 and 32),
  side                 text        not null check (side in ('buy', 'sell')),
  order_type           text        not null check (order_type in ('market', 'limit')),
  quantity             numeric     not null check (quantity > 0),
  limit_price          numeric,
  time_in_force        text        not null check (time_in_force in ('gtc', 'day', 'ioc', 'fok', 'gtd')),
  expire_at            timestamptz,
  status               text        not null,
  refusal_code         text,
  cumulative_quantity  numeric     not null default 0 check (cumulative_quantity >= 0),
  cumulative_cost      numeric     not null default 0,
  overfilled           boolean     not null default false,
  attention            text,
  cancel_requested_at  timestamptz,
  venue_order_id       text,
  quote_evidence       jsonb,
  last_event_sequence  integer     not null default 0 check (last_event_sequence >= 0),
  accepted_at          timestamptz not null,
  updated_at           timestamptz not null default now(),
  constraint orders_pkey primary key (id),
  constraint orders_key_unique unique (account_id, client_order_id),
  constraint orders_status_check check (status in (
    'PENDING_NEW', 'NEW', 'UNACKNOWLEDGED', 'PARTIALLY_FILLED', 'FILLED', 'CANCELLED', 'REJECTED', 'EXPIRED', 'REFUSED')),
  constraint orders_refusal_check check ((status = 'REFUSED') = (refusal_code is not null)),
  constraint orders_limit_check check ((order_type = 'limit') = (limit_price is not null)),
  constraint orders_gtd_check check ((time_in_force = 'gtd') = (expire_at is not null))
);

comment on table orders is 'Every logical order, opened or refused. unique(account_id, client_order_id) is the second line behind idempotency_keys';
comment on column orders.id is 'For paging only; an order is named by its account and client order id';
comment on column orders.refusal_code is 'Why the order was never opened; set exactly when status is REFUSED';
comment on column orders.cumulative_quantity is 'Sum of the effective quantities of its fills';
comment on column orders.cumulative_cost is 'Sum of quantity times price of its fills, exact; the average price is derived from it when read';
comment on column orders.overfilled is 'More was filled than ordered; the trade is booked all the same';
comment on column orders.attention is 'Why an operator should look at this order; null when there is nothing to see';
comment on column orders.quote_evidence is 'The quote gate''s verdict and its facts at the moment of opening or refusing';
comment on column orders.accepted_at is 'When the order was opened or refused; the database''s clock';

create index orders_account_id_id on orders (account_id, id desc);
create index orders_account_status on orders (account_id, status, id desc);

create table order_events (
  account_id      text        not null,
  client_order_id text        not null,
  sequence        integer     not null check (sequence > 0),
  type            text        not null check (length(type) between 1 and 64),
  detail          jsonb       not null default '{}',
  recorded_at     timestamptz not null default now(),
  constraint order_events_pkey primary key (account_id, client_order_id, sequence),
  constraint order_events_order foreign key (account_id, client_order_id)
    references orders (account_id, client_order_id)
);

comment on table order_events is 'The order''s timeline, one row for each thing that happened to it, in order';
