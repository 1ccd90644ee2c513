-- Written by "npm run db:dump". Do not edit: change it with a migration.

CREATE OR REPLACE FUNCTION public.forget_fill_block()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from fill_blocks
  where account_id = old.account_id and symbol = old.symbol
    and position_sequence = (old.position_sequence + 255) / 256 * 256;
  return null;
end
$function$;
comment on function forget_fill_block() is 'A block must not outlive what it was copied from, whoever changes a fill';

create table api_keys (
  key_id text not null,
  account_id text not null,
  key_hash bytea not null,
  created_at timestamp with time zone not null default now(),
  revoked_at timestamp with time zone,
  scope text not null default 'account'::text,
  constraint api_keys_pkey PRIMARY KEY (key_id),
  constraint api_keys_account_id_check CHECK ((account_id ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$'::text)),
  constraint api_keys_check CHECK ((revoked_at >= created_at)),
  constraint api_keys_key_hash_check CHECK ((octet_length(key_hash) = 32)),
  constraint api_keys_key_id_check CHECK ((key_id ~ '^[0-9a-f]{16}$'::text)),
  constraint api_keys_scope_check CHECK ((scope = ANY (ARRAY['account'::text, 'operator'::text])))
);
CREATE INDEX api_keys_account_id ON public.api_keys USING btree (account_id);
comment on table api_keys is 'API keys; all reads and writes of a key are scoped to its account';
comment on column api_keys.key_id is 'The public part of the key, by which its row is found';
comment on column api_keys.key_hash is 'SHA-256 of the whole key; a key holds 256 random bits, so no slow hash is needed';
comment on column api_keys.scope is 'account: reads and writes of its account; operator: also decides about events that were set aside, of every account';

create table fill_amendments (
  source text not null,
  execution_id text not null,
  event_type text not null,
  ref_execution_id text not null,
  root_execution_id text not null,
  account_id text not null,
  client_order_id text not null,
  quantity numeric,
  price numeric,
  executed_at timestamp with time zone not null,
  sequence bigint not null generated always as identity,
  constraint fill_amendments_pkey PRIMARY KEY (source, event_type, execution_id),
  constraint fill_amendments_content_check CHECK (((event_type = 'CORRECT'::text) = ((quantity IS NOT NULL) AND (price IS NOT NULL)))),
  constraint fill_amendments_event_type_check CHECK ((event_type = ANY (ARRAY['BUST'::text, 'CORRECT'::text]))),
  constraint fill_amendments_quantity_check CHECK ((quantity > (0)::numeric))
);
CREATE INDEX fill_amendments_root ON public.fill_amendments USING btree (source, root_execution_id, sequence);
comment on table fill_amendments is 'Busts and corrections, kept also when they arrive before the fill that they refer to';
comment on column fill_amendments.root_execution_id is 'The fill at the end of the chain of references: a correction may refer to a correction';

create table fill_blocks (
  account_id text not null,
  symbol text not null,
  position_sequence bigint not null,
  trades text not null,
  constraint fill_blocks_pkey PRIMARY KEY (account_id, symbol, position_sequence),
  constraint fill_blocks_position FOREIGN KEY (account_id, symbol) REFERENCES positions(account_id, symbol),
  constraint fill_blocks_position_sequence_check CHECK (((position_sequence > 0) AND ((position_sequence % (256)::bigint) = 0)))
);
comment on table fill_blocks is 'What the fills of 256 places count for, copied from fills. May be deleted: only speed is lost';
comment on column fill_blocks.position_sequence is 'The last of its places';
comment on column fill_blocks.trades is 'Signed quantity and price of each fill that counts, in applied order: "10@1.1 -4@1.2"';

create table fills (
  source text not null,
  execution_id text not null,
  account_id text not null,
  client_order_id text not null,
  symbol text not null,
  side text not null,
  quantity numeric not null,
  price numeric not null,
  effective_quantity numeric not null,
  effective_price numeric not null,
  amended_by text,
  executed_at timestamp with time zone not null,
  booked_at timestamp with time zone not null default now(),
  position_sequence bigint not null,
  constraint fills_execution_unique UNIQUE (source, execution_id),
  constraint fills_position_sequence_unique UNIQUE (account_id, symbol, position_sequence),
  constraint fills_order FOREIGN KEY (account_id, client_order_id) REFERENCES orders(account_id, client_order_id),
  constraint fills_amended_check CHECK (((amended_by IS NOT NULL) OR ((effective_quantity = quantity) AND (effective_price = price)))),
  constraint fills_effective_places CHECK (((min_scale(effective_quantity) <= 18) AND (min_scale(effective_price) <= 18))) NOT VALID,
  constraint fills_effective_quantity_check CHECK ((effective_quantity >= (0)::numeric)),
  constraint fills_execution_id_check CHECK (((length(execution_id) >= 1) AND (length(execution_id) <= 256))),
  constraint fills_position_sequence_check CHECK ((position_sequence > 0)),
  constraint fills_quantity_check CHECK ((quantity > (0)::numeric)),
  constraint fills_side_check CHECK ((side = ANY (ARRAY['buy'::text, 'sell'::text])))
);
CREATE INDEX fills_order ON public.fills USING btree (account_id, client_order_id);
CREATE TRIGGER fills_forget_block AFTER DELETE OR UPDATE OF account_id, symbol, side, effective_quantity, effective_price, position_sequence ON public.fills FOR EACH ROW EXECUTE FUNCTION forget_fill_block();
comment on table fills is 'Every trade once. unique(source, execution_id) is the second line when the dedup row is already purged';
comment on column fills.quantity is 'As first reported; never changed';
comment on column fills.effective_quantity is 'What counts: zero when busted, the corrected quantity when corrected';
comment on column fills.amended_by is 'The execution id of the latest bust or correction';
comment on column fills.position_sequence is 'The order in which the position was folded; a correction keeps its fill''s place';

create table idempotency_keys (
  account_id text not null,
  client_order_id text not null,
  request_hash bytea not null,
  request_id text not null,
  status_code integer not null,
  answer json not null,
  created_at timestamp with time zone not null default now(),
  constraint idempotency_keys_pkey PRIMARY KEY (account_id, client_order_id),
  constraint idempotency_keys_request_hash_check CHECK ((octet_length(request_hash) = 32)),
  constraint idempotency_keys_status_code_check CHECK ((status_code = ANY (ARRAY[201, 409])))
);
CREATE INDEX idempotency_keys_created_at ON public.idempotency_keys USING btree (created_at);
comment on table idempotency_keys is 'One row a logical order: the first answer, given again to every repeat';
comment on column idempotency_keys.request_hash is 'SHA-256 of the normalised request; another hash under the same key is an error';
comment on column idempotency_keys.request_id is 'The HTTP request that was first; every other one is a repeat';
comment on column idempotency_keys.answer is 'json, not jsonb: the text is kept byte for byte';

create table operator_decisions (
  id bigint not null generated always as identity,
  decision text not null,
  reason text not null,
  decided_by text not null,
  outcome text not null,
  account_id text,
  client_order_id text,
  decided_at timestamp with time zone not null default now(),
  constraint operator_decisions_pkey PRIMARY KEY (id),
  constraint operator_decisions_decided_by_check CHECK (((length(decided_by) >= 1) AND (length(decided_by) <= 256))),
  constraint operator_decisions_decision_check CHECK ((decision = ANY (ARRAY['replay'::text, 'adopt'::text, 'discard'::text]))),
  constraint operator_decisions_discard_check CHECK (((decision = 'discard'::text) = (outcome = 'discarded'::text))),
  constraint operator_decisions_order_check CHECK ((((decision = 'discard'::text) = (account_id IS NULL)) AND ((account_id IS NULL) = (client_order_id IS NULL)))),
  constraint operator_decisions_outcome_check CHECK ((outcome = ANY (ARRAY['applied'::text, 'duplicate'::text, 'outside_window'::text, 'parked'::text, 'discarded'::text]))),
  constraint operator_decisions_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 1000)))
);
comment on table operator_decisions is 'One row for each event that a person decided about; never changed, never removed';
comment on column operator_decisions.outcome is 'What came of it: a verdict of the transaction that applied it, or discarded';
comment on column operator_decisions.account_id is 'With client_order_id the order that it was applied to; null for a discard';

create table order_events (
  account_id text not null,
  client_order_id text not null,
  sequence integer not null,
  type text not null,
  detail jsonb not null default '{}'::jsonb,
  recorded_at timestamp with time zone not null default now(),
  constraint order_events_pkey PRIMARY KEY (account_id, client_order_id, sequence),
  constraint order_events_order FOREIGN KEY (account_id, client_order_id) REFERENCES orders(account_id, client_order_id),
  constraint order_events_sequence_check CHECK ((sequence > 0)),
  constraint order_events_type_check CHECK (((length(type) >= 1) AND (length(type) <= 64)))
);
comment on table order_events is 'The order''s timeline, one row for each thing that happened to it, in order';

create table orders (
  id bigint not null generated always as identity,
  account_id text not null,
  client_order_id text not null,
  request_hash bytea not null,
  symbol text not null,
  side text not null,
  order_type text not null,
  quantity numeric not null,
  limit_price numeric,
  time_in_force text not null,
  expire_at timestamp with time zone,
  status text not null,
  refusal_code text,
  cumulative_quantity numeric not null default 0,
  cumulative_cost numeric not null default 0,
  overfilled boolean not null default false,
  attention text,
  cancel_requested_at timestamp with time zone,
  venue_order_id text,
  quote_evidence jsonb,
  last_event_sequence integer not null default 0,
  accepted_at timestamp with time zone not null,
  updated_at timestamp with time zone not null default now(),
  cancel_rejections integer not null default 0,
  constraint orders_pkey PRIMARY KEY (id),
  constraint orders_key_unique UNIQUE (account_id, client_order_id),
  constraint orders_account_id_check CHECK ((account_id ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$'::text)),
  constraint orders_cancel_rejections_check CHECK ((cancel_rejections >= 0)),
  constraint orders_client_order_id_check CHECK (((length(client_order_id) >= 1) AND (length(client_order_id) <= 128))),
  constraint orders_cumulative_quantity_check CHECK ((cumulative_quantity >= (0)::numeric)),
  constraint orders_gtd_check CHECK (((time_in_force = 'gtd'::text) = (expire_at IS NOT NULL))),
  constraint orders_last_event_sequence_check CHECK ((last_event_sequence >= 0)),
  constraint orders_limit_check CHECK (((order_type = 'limit'::text) = (limit_price IS NOT NULL))),
  constraint orders_order_type_check CHECK ((order_type = ANY (ARRAY['market'::text, 'limit'::text]))),
  constraint orders_quantity_check CHECK ((quantity > (0)::numeric)),
  constraint orders_refusal_check CHECK (((status = 'REFUSED'::text) = (refusal_code IS NOT NULL))),
  constraint orders_request_hash_check CHECK ((octet_length(request_hash) = 32)),
  constraint orders_side_check CHECK ((side = ANY (ARRAY['buy'::text, 'sell'::text]))),
  constraint orders_status_check CHECK ((status = ANY (ARRAY['PENDING_NEW'::text, 'NEW'::text, 'UNACKNOWLEDGED'::text, 'PARTIALLY_FILLED'::text, 'FILLED'::text, 'CANCELLED'::text, 'REJECTED'::text, 'EXPIRED'::text, 'REFUSED'::text]))),
  constraint orders_symbol_check CHECK (((length(symbol) >= 1) AND (length(symbol) <= 32))),
  constraint orders_time_in_force_check CHECK ((time_in_force = ANY (ARRAY['gtc'::text, 'day'::text, 'ioc'::text, 'fok'::text, 'gtd'::text])))
);
CREATE INDEX orders_account_id_id ON public.orders USING btree (account_id, id DESC);
CREATE INDEX orders_account_status ON public.orders USING btree (account_id, status, id DESC);
comment on table orders is 'Every logical order, opened or refused. unique(account_id, client_order_id) is the second line behind idempotency_keys';
comment on column orders.id is 'For paging only; an order is named by its account and client order id';
comment on column orders.refusal_code is 'Why the order was never opened; set exactly when status is REFUSED';
comment on column orders.cumulative_quantity is 'Sum of the effective quantities of its fills';
comment on column orders.cumulative_cost is 'Sum of quantity times price of its fills, exact; the average price is derived from it when read';
comment on column orders.overfilled is 'More was filled than ordered; the trade is booked all the same';
comment on column orders.attention is 'Why an operator should look at this order; null when there is nothing to see';
comment on column orders.quote_evidence is 'The quote gate''s verdict and its facts at the moment of opening or refusing';
comment on column orders.accepted_at is 'When the order was opened or refused; the database''s clock';
comment on column orders.cancel_rejections is 'How often the venue has refused to cancel it; a cancel request after that is a new one';

create table parked_executions (
  source text not null,
  event_type text not null,
  execution_id text not null,
  account_id text not null,
  client_order_id text not null,
  content_hash bytea not null,
  execution jsonb not null,
  sequence bigint not null generated always as identity,
  parked_at timestamp with time zone not null default now(),
  decision_id bigint,
  constraint parked_executions_pkey PRIMARY KEY (source, event_type, execution_id, content_hash),
  constraint parked_executions_decision_id_fkey FOREIGN KEY (decision_id) REFERENCES operator_decisions(id),
  constraint parked_executions_content_hash_check CHECK ((octet_length(content_hash) = 32))
);
CREATE INDEX parked_executions_order ON public.parked_executions USING btree (account_id, client_order_id, sequence);
CREATE UNIQUE INDEX parked_executions_sequence ON public.parked_executions USING btree (sequence);
comment on table parked_executions is 'Executions of an order that does not exist here yet: applied when it appears, or adopted by an operator';
comment on column parked_executions.decision_id is 'Null while it waits for its order. A decided one stays, is never applied by itself, and makes its repeats known';

create table position_changes (
  account_id text not null,
  symbol text not null,
  sequence bigint not null,
  source text not null,
  event_type text not null,
  execution_id text not null,
  client_order_id text not null,
  quantity numeric not null,
  average_price numeric,
  realised_profit numeric not null,
  recorded_at timestamp with time zone not null default now(),
  constraint position_changes_pkey PRIMARY KEY (account_id, symbol, sequence),
  constraint position_changes_position FOREIGN KEY (account_id, symbol) REFERENCES positions(account_id, symbol),
  constraint position_changes_event_type_check CHECK ((event_type = ANY (ARRAY['FILL'::text, 'BUST'::text, 'CORRECT'::text]))),
  constraint position_changes_flat_check CHECK (((quantity = (0)::numeric) = (average_price IS NULL))),
  constraint position_changes_sequence_check CHECK ((sequence > 0))
);
comment on table position_changes is 'What a position was after each execution that changed it, as it was known then; rows are only ever added';
comment on column position_changes.sequence is 'Counts from 1 in each position, without a gap';

create table position_checkpoints (
  account_id text not null,
  symbol text not null,
  position_sequence bigint not null,
  quantity numeric not null,
  average_price numeric,
  realised_profit numeric not null,
  constraint position_checkpoints_pkey PRIMARY KEY (account_id, symbol, position_sequence),
  constraint position_checkpoints_position FOREIGN KEY (account_id, symbol) REFERENCES positions(account_id, symbol),
  constraint position_checkpoints_flat_check CHECK (((quantity = (0)::numeric) = (average_price IS NULL))),
  constraint position_checkpoints_position_sequence_check CHECK ((position_sequence > 0))
);
comment on table position_checkpoints is 'The fold of a position''s fills up to a place; rewritten when an earlier fill is amended. May be deleted: only speed is lost';
comment on column position_checkpoints.position_sequence is 'It holds the fills up to this place; a multiple of 256';

create table positions (
  account_id text not null,
  symbol text not null,
  quantity numeric not null,
  average_price numeric,
  realised_profit numeric not null default 0,
  last_sequence bigint not null default 0,
  updated_at timestamp with time zone not null default now(),
  change_count bigint not null default 0,
  constraint positions_pkey PRIMARY KEY (account_id, symbol),
  constraint positions_change_count_check CHECK ((change_count >= 0)),
  constraint positions_flat_check CHECK (((quantity = (0)::numeric) = (average_price IS NULL))),
  constraint positions_last_sequence_check CHECK ((last_sequence >= 0))
);
comment on table positions is 'Netting positions: the fold of each account''s fills of a symbol in applied order';
comment on column positions.quantity is 'Signed: above zero is long, below zero is short';
comment on column positions.average_price is 'The only rounded figure: 18 places, ties to even. Null exactly when flat';
comment on column positions.last_sequence is 'The highest position_sequence of its fills';
comment on column positions.change_count is 'How many rows position_changes has of this position';

create table processed_events (
  source text not null,
  event_type text not null,
  event_id text not null,
  content_hash bytea not null,
  event_time timestamp with time zone not null,
  processed_at timestamp with time zone not null default now(),
  constraint processed_events_pkey PRIMARY KEY (source, event_type, event_id),
  constraint processed_events_content_hash_check CHECK ((octet_length(content_hash) = 32)),
  constraint processed_events_event_id_check CHECK (((length(event_id) >= 1) AND (length(event_id) <= 256))),
  constraint processed_events_event_type_check CHECK ((event_type = ANY (ARRAY['NEW'::text, 'FILL'::text, 'CANCELLED'::text, 'CANCEL_REJECTED'::text, 'REJECTED'::text, 'EXPIRED'::text, 'BUST'::text, 'CORRECT'::text])))
);
CREATE INDEX processed_events_processed_at ON public.processed_events USING btree (processed_at);
comment on table processed_events is 'The dedup table: an event whose identity is here has had its effect. Rows end after the dedup window';
comment on column processed_events.content_hash is 'SHA-256 of the normalised content; the same identity with another hash is a conflict, not a repeat';
comment on column processed_events.event_time is 'The venue''s own stamp, the same on every resend';

create table quarantined_events (
  id bigint not null generated always as identity,
  reason text not null,
  detail text not null,
  source text,
  event_type text,
  execution_id text,
  account_id text,
  client_order_id text,
  content_hash bytea not null,
  payload text not null,
  other_payload text,
  topic text,
  topic_partition integer,
  topic_offset bigint,
  times_seen integer not null default 1,
  quarantined_at timestamp with time zone not null default now(),
  decision_id bigint,
  constraint quarantined_events_pkey PRIMARY KEY (id),
  constraint quarantined_events_decision_id_fkey FOREIGN KEY (decision_id) REFERENCES operator_decisions(id),
  constraint quarantined_events_content_hash_check CHECK ((octet_length(content_hash) = 32)),
  constraint quarantined_events_reason_check CHECK ((reason = ANY (ARRAY['malformed'::text, 'conflict'::text, 'wrong_order'::text]))),
  constraint quarantined_events_times_seen_check CHECK ((times_seen > 0))
);
CREATE UNIQUE INDEX quarantined_events_once ON public.quarantined_events USING btree (reason, COALESCE(source, ''::text), COALESCE(event_type, ''::text), COALESCE(execution_id, ''::text), content_hash);
CREATE INDEX quarantined_events_open ON public.quarantined_events USING btree (quarantined_at DESC, id DESC) WHERE (decision_id IS NULL);
CREATE INDEX quarantined_events_order ON public.quarantined_events USING btree (account_id, client_order_id, id) WHERE (decision_id IS NULL);
comment on table quarantined_events is 'Events that must not be applied and must not be lost; a person decides';
comment on column quarantined_events.reason is 'malformed: cannot be read; conflict: a known identity with other content; wrong_order: contradicts its order';
comment on column quarantined_events.payload is 'The event as it came; bytes that are not UTF-8 are base64 with the prefix base64:';
comment on column quarantined_events.other_payload is 'For a conflict, the content hash that was processed first';
comment on column quarantined_events.decision_id is 'Null while nobody has decided. The row stays: a repeat of the event is known by it';
