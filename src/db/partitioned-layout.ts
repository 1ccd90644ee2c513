import { BEFORE_PARTITION, DEFAULT_PARTITION } from './dedup-partitions';

/** Made before the switch, and removed by it: they let the old table become the partition of all days before the first. */
export const BOUND = 'processed_events_bound';
export const NEW_KEY = 'processed_events_before_pkey';

/** Keeps these locks apart from those on the keys of orders. */
const IDENTITY_SEED = 1;

/**
 * A valid check that the table holds no later day spares the switch a scan under its lock. The trigger stamps later
 * events just below the bound: the stamp only chooses a partition, and the true one is in the content hash. Without it
 * the check would refuse them, and should the conversion be killed, in two days all others.
 * @param bound the start of the first day with a partition of its own, an SQL expression.
 */
export function boundTable(bound: string): string {
  return `
    ${unboundTable()}
    create function ${BOUND}() returns trigger language plpgsql as $body$
    begin
      new.event_time := least(new.event_time, ${bound} - interval '1 microsecond');
      return new;
    end $body$;
    create trigger ${BOUND} before insert on processed_events for each row execute function ${BOUND}();
    alter table processed_events add constraint ${BOUND} check (event_time < ${bound}) not valid;`;
}

/** Takes back what `boundTable` did, if anything. */
export function unboundTable(): string {
  return `
    lock table processed_events in access exclusive mode;
    drop trigger if exists ${BOUND} on processed_events;
    drop function if exists ${BOUND}();
    alter table processed_events drop constraint if exists ${BOUND};`;
}

/** The old table, bounded and with its new key built, becomes a partition of the new one. Only the catalogue changes. */
export function switchLayout(bound: string): string {
  return `
    lock table processed_events in access exclusive mode;
    drop trigger ${BOUND} on processed_events;
    drop function ${BOUND}();
    alter table processed_events drop constraint processed_events_pkey;
    alter table processed_events rename to ${BEFORE_PARTITION};
    alter table ${BEFORE_PARTITION} add constraint ${NEW_KEY} primary key using index ${NEW_KEY};
    alter index processed_events_processed_at rename to ${BEFORE_PARTITION}_processed_at;

    create table processed_events
      (like ${BEFORE_PARTITION} including defaults including constraints including comments)
      partition by range (event_time);
    alter table processed_events drop constraint ${BOUND};
    alter table processed_events
      add constraint processed_events_pkey primary key (source, event_type, event_id, event_time);
    create index processed_events_processed_at on processed_events (processed_at);
    ${IDENTITY_TRIGGER}
    alter table processed_events attach partition ${BEFORE_PARTITION} for values from (minvalue) to (${bound});
    alter table ${BEFORE_PARTITION} drop constraint ${BOUND};
    create table ${DEFAULT_PARTITION} partition of processed_events default;
    ${COPY_COMMENT_AND_GRANTS}`;
}

/**
 * PostgreSQL keeps a unique key across partitions only with the partition key in it, so that the same event with
 * another time would be a new one. This keeps (source, event_type, event_id) unique over all partitions: whoever is
 * second with an identity waits for the first one's end, and then sees its row, since in a read committed transaction
 * each query of a volatile function has a snapshot of its own. Such an insert does nothing, as with a conflict.
 */
const IDENTITY_TRIGGER = `
    create function processed_events_identity() returns trigger language plpgsql volatile as $body$
    begin
      if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'processed_events is written in read committed transactions only'
          using errcode = 'feature_not_supported';
      end if;
      perform pg_advisory_xact_lock(hashtextextended(
        concat_ws(chr(31), new.source, new.event_type, new.event_id), ${IDENTITY_SEED}));
      if exists (
        select from processed_events as p
        where p.source = new.source and p.event_type = new.event_type and p.event_id = new.event_id
          and p.event_time <> new.event_time
      ) then
        return null;
      end if;
      return new;
    end $body$;
    create trigger processed_events_identity before insert on processed_events
      for each row execute function processed_events_identity();
    comment on function processed_events_identity() is
      'Keeps (source, event_type, event_id) unique over all partitions';`;

/** What LIKE does not copy. Whoever may use the table may use it afterwards. */
const COPY_COMMENT_AND_GRANTS = `
    do $body$
    declare
      command text;
    begin
      for command in
        select format('comment on table processed_events is %L', obj_description(oid, 'pg_class'))
        from pg_class where oid = '${BEFORE_PARTITION}'::regclass
        union all
        select format('alter table processed_events owner to %I', pg_get_userbyid(relowner))
        from pg_class where oid = '${BEFORE_PARTITION}'::regclass
        union all
        select format('grant %s on processed_events to %s%s', a.privilege_type,
          case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end,
          case when a.is_grantable then ' with grant option' else '' end)
        from pg_class c, aclexplode(c.relacl) a
        where c.oid = '${BEFORE_PARTITION}'::regclass and a.grantee <> c.relowner
      loop
        execute command;
      end loop;
    end $body$;`;
