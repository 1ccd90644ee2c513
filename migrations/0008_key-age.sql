-- The cleanup finds the keys that are old by their age, and not by reading all of them; and what it deletes is vacuumed
-- soon, for the oldest rows are found by an index that still holds those which are gone.
-- Locks: idempotency_keys is not written while the index is built, which is about a second for a million rows; no order
-- is opened meanwhile, and its clients wait or send again. The settings lock nobody out.
-- Safe while old code runs: yes.

-- Up Migration

create index idempotency_keys_created_at on idempotency_keys (created_at);

alter table processed_events set (autovacuum_vacuum_scale_factor = 0.02);
alter table idempotency_keys set (autovacuum_vacuum_scale_factor = 0.02);
