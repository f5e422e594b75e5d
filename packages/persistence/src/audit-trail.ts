import type { Actor, ApiKeyId, AuditEntry, AuditFilter, KeyEventAction } from '@petstore/domain';
import type { Database } from './database/database.ts';
import { prepareStatement } from './database/statement.ts';
import type { Row } from './schema/rows.ts';

/** A ban that was set or lifted. */
interface BanEvent {
  readonly action: Extract<KeyEventAction, `ban.${string}`>;
  readonly at: Date;
  readonly actor: Actor;
  readonly keyId: ApiKeyId;
}

/** Who changed what: orders, by their events, and keys. */
export interface AuditTrail {
  recordBan(ban: BanEvent): Promise<void>;
  /** Returns the newest entries first. A search for few of many records may take seconds. */
  read(filter: AuditFilter): Promise<readonly AuditEntry[]>;
}

const RECORD = prepareStatement<never>(
  'record-ban',
  'insert into key_events (action, at, actor, key_id) values ($1, $2, $3, $4)',
);

/**
 * Ids descend as times do, except those of bans that waited for PostgreSQL, so that each table is read from its end, and no
 * further than needed.
 */
const READ = `
  select at, action, order_id, key_id, actor, request_id, read_only from (
    (select id, at, type as action, order_id, substring(actor from '^key:(.*)$') as key_id, actor, request_id, null::boolean as read_only
    from order_events
    where ($1::bigint is null or order_id = $1)
      and ($2::text is null or actor = 'key:' || $2)
      and ($3::timestamptz is null or at >= $3)
    order by id desc limit $4)
    union all
    (select id, at, action, null, key_id, actor, null, read_only
    from key_events
    where $1::bigint is null
      and ($2::text is null or key_id = $2)
      and ($3::timestamptz is null or at >= $3)
    order by id desc limit $4)
  ) as entries
  order by at desc, id desc
  limit $4`;

type OrderEvent = Row<'order_events'>;
type KeyEvent = Row<'key_events'>;

/** What the events of orders and of keys have in common, and the columns that only one of the two has. */
type EntryRow = Pick<OrderEvent & KeyEvent, 'at' | 'actor'> &
  Pick<OrderEvent, 'request_id'> &
  Pick<KeyEvent, 'read_only'> & {
    readonly action: OrderEvent['type'] | KeyEvent['action'];
    readonly order_id: OrderEvent['order_id'] | null;
    readonly key_id: KeyEvent['key_id'] | null;
  };

export const createAuditTrail = (database: Database): AuditTrail => ({
  async recordBan({ action, at, actor, keyId }) {
    const values = [action, at.toISOString(), actor, keyId];
    await database.run('writes', RECORD, values);
  },
  read: ({ orderId, keyId, since, limit }) =>
    database.withLongSession(async (client) => {
      const values = [orderId?.toString() ?? null, keyId ?? null, since?.toISOString() ?? null, limit];
      const { rows } = await client.query<EntryRow>(READ, values);
      return rows.map(entryOf);
    }),
});

const entryOf = ({ at, action, order_id, key_id, actor, request_id, read_only }: EntryRow): AuditEntry => ({
  at,
  action,
  actor,
  ...(order_id !== null && { orderId: order_id }),
  ...(key_id !== null && { keyId: key_id }),
  ...(request_id !== null && { requestId: request_id }),
  ...(read_only !== null && { readOnly: read_only }),
});
