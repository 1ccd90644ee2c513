-- A venue that refuses to cancel says so: an execution type of its own, and a count on the order.
-- Locks: orders and processed_events exclusively; adding the column takes a moment, checking processed_events reads it
-- once (about a second for ten million rows).
-- Safe while old code runs: yes. An old bridge puts the new type into quarantine, from where it can be replayed.

-- Up Migration

alter table orders
  add column cancel_rejections integer not null default 0 check (cancel_rejections >= 0);

comment on column orders.cancel_rejections is 'How often the venue has refused to cancel it; a cancel request after that is a new one';

alter table processed_events
  drop constraint processed_events_event_type_check,
  add constraint processed_events_event_type_check check (event_type in (
    'NEW', 'FILL', 'CANCELLED', 'CANCEL_REJECTED', 'REJECTED', 'EXPIRED', 'BUST', 'CORRECT'));
