-- Who may call the API. Only a hash of a key is kept: a copy of this table opens nothing.
-- Locks: creates a new table only. Safe while old code runs: yes.

-- Up Migration

create table api_keys (
  key_id     text        not null primary key check (key_id ~ '^[0-9a-f]{16}$'),
  account_id text        not null check (account_id ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$'),
  key_hash   bytea       not null check (octet_length(key_hash) = 32),
  created_at timestamptz not null default now(),
  revoked_at timestamptz check (revoked_at >= created_at)
);

comment on table api_keys is 'API keys; all reads and writes of a key are scoped to its account';
comment on column api_keys.key_id is 'The public part of the key, by which its row is found';
comment on column api_keys.key_hash is 'SHA-256 of the whole key; a key holds 256 random bits, so no slow hash is needed';

create index api_keys_account_id on api_keys (account_id);
