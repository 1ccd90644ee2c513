-- The fills of 256 places of a position as one text, so that a bust of an old fill reads one row for them and not 256.
-- Fills that are older than this migration get their blocks from the first bust or correction that passes them.
-- And the fold's places are what the column holds, whoever writes it; the rows that are there came over the border, which
-- asked the same of them, so they are not scanned.
-- Locks: creates a new table, and for a moment lets nobody use `fills`, to add a trigger and a check.
-- Safe while old code runs: yes; the trigger takes away what an amendment by old code makes wrong.

-- Up Migration

create table fill_blocks (
  account_id        text   not null,
  symbol            text   not null,
  position_sequence bigint not null check (position_sequence > 0 and position_sequence % 256 = 0),
  trades            text   not null,
  constraint fill_blocks_pkey primary key (account_id, symbol, position_sequence),
  constraint fill_blocks_position foreign key (account_id, symbol) references positions (account_id, symbol)
);

comment on table fill_blocks is 'What the fills of 256 places count for, copied from fills. May be deleted: only speed is lost';
comment on column fill_blocks.position_sequence is 'The last of its places';
comment on column fill_blocks.trades is 'Signed quantity and price of each fill that counts, in applied order: "10@1.1 -4@1.2"';

create function forget_fill_block() returns trigger language plpgsql as $$
begin
  delete from fill_blocks
  where account_id = old.account_id and symbol = old.symbol
    and position_sequence = (old.position_sequence + 255) / 256 * 256;
  return null;
end
$$;

comment on function forget_fill_block() is 'A block must not outlive what it was copied from, whoever changes a fill';

create trigger fills_forget_block
  after delete or update of account_id, symbol, side, effective_quantity, effective_price, position_sequence on fills
  for each row execute function forget_fill_block();

alter table fills
  add constraint fills_effective_places check (min_scale(effective_quantity) <= 18 and min_scale(effective_price) <= 18)
  not valid;
