import { IDEMPOTENCY_KEY_TTL_MS, type OrderEventType } from '@petstore/domain';
import { ORDER_COLUMNS, REFERRED_ORDER_COLUMNS } from './order-rows.ts';
import { type PreparedStatement, prepareStatement, type StatementValue } from './pipelined-query.ts';

// Parts of the statements that change orders: what they write besides, and what they do for a call that may be made twice.

interface EventOrigin {
  readonly type: OrderEventType;
  /** Expressions over the rows that were changed. */
  readonly at: string;
  readonly actor: string;
  readonly requestId: string;
}

/** Writes an event for each row of `from`, an order as it is after its change. */
export const recordEvents = (from: string, { type, at, actor, requestId }: EventOrigin): string =>
  `insert into order_events (type, at, actor, request_id, ${REFERRED_ORDER_COLUMNS})
   select '${type}', ${at}, ${actor}, ${requestId}, ${ORDER_COLUMNS} from ${from}`;

/**
 * How a call stands whose key has been used: it is the same call, or another one, or the key is old enough to be used
 * again. Two calls with one key at the same time meet in the primary key, and the second one is undone as a whole.
 */
export type KeyOutcome = 'remembered' | 'reused' | 'expired';

/**
 * What is remembered of calls, with an outcome for each.
 *
 * @param call the procedure and its input, an expression
 * @param expiredAt until when keys were used that are no longer remembered, an expression
 */
export const keyOutcome = (call: string, expiredAt: string): string =>
  `case when remembered_at <= ${expiredAt} then 'expired' when call = ${call} then 'remembered' else 'reused' end`;

/** Remembers each row of `from` as the result of its call. */
export const rememberCalls = (
  from: string,
  { actor, idempotencyKey, call, at }: Readonly<Record<'actor' | 'idempotencyKey' | 'call' | 'at', string>>,
): string =>
  `insert into idempotency_keys (actor, idempotency_key, call, remembered_at, ${REFERRED_ORDER_COLUMNS})
   select ${actor}, ${idempotencyKey}, ${call}, ${at}, ${ORDER_COLUMNS} from ${from}`;

/** Makes room for a key that is used again after it was forgotten. Parameters: actor, key, and until when it was used. */
export const FORGET_KEY: PreparedStatement<readonly never[]> = prepareStatement(
  'forget-idempotency-key',
  'delete from idempotency_keys where actor = $1 and idempotency_key = $2 and remembered_at <= $3',
);

/** Until when calls were made that are no longer remembered at a moment. */
export const keysExpiredAt = (now: Date): string => new Date(now.getTime() - IDEMPOTENCY_KEY_TTL_MS).toISOString();

/** Texts as the literal of a `text[]`. */
export function textArray(texts: readonly (string | undefined)[]): StatementValue {
  const quoted = texts.map((text) => (text === undefined ? 'NULL' : `"${text.replace(/["\\]/g, '\\$&')}"`));
  return `{${quoted.join()}}`;
}
