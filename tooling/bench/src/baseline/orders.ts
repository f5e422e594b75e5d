import { Readable } from 'node:stream';
import pg from 'pg';
import { orderBatches } from './order-batches.ts';
import { AS_TEXT, connectionOptions, openPipelines } from './pipelined.ts';

export type CancelOutcome = 'cancelled' | 'was-cancelled' | 'was-shipped' | 'unknown';

type OrderRow = [id: string, petId: string, quantity: string, shipDate: string | null, complete: string];

const CANCEL = {
  name: 'cancel',
  text: `update orders set status = 'cancelled', cancelled_at = now() where id = $1 and status = 'pending'`,
};
const FIND = { name: 'find', text: 'select status from orders where id = $1' };

const FIRST_ROWS = 250;
const LIST_FIRST = {
  name: 'list',
  text: `select id, pet_id, quantity, ship_date, complete from orders order by id limit ${FIRST_ROWS}`,
  rowMode: 'array' as const,
  types: AS_TEXT,
};

export function createOrders(databaseUrl: string) {
  const reads = openPipelines(databaseUrl, 2);
  // More than for reads, because a connection commits one statement after the other.
  const writes = openPipelines(databaseUrl, 8);
  const copies = new pg.Pool(connectionOptions(databaseUrl));

  return {
    async cancel(id: string): Promise<CancelOutcome> {
      const { rowCount } = await (await writes()).query(CANCEL, [id]);
      if (rowCount === 1) return 'cancelled';
      const { rows } = await (await reads()).query<{ status: string }>(FIND, [id]);
      if (rows[0] === undefined) return 'unknown';
      return rows[0].status === 'shipped' ? 'was-shipped' : 'was-cancelled';
    },

    /** A short list in one piece; a long one as it comes. */
    async list(): Promise<string | Readable> {
      const { rows } = await (await reads()).query<OrderRow>(LIST_FIRST);
      const json = `[${rows.map(toJson).join(',')}`;
      const last = rows.at(-1);
      if (last === undefined || rows.length < FIRST_ROWS) return `${json}]`;
      return Readable.from(longList(copies, json, last[0]), { objectMode: false, highWaterMark: 1 });
    },
  };
}

async function* longList(pool: pg.Pool, head: string, lastId: string): AsyncGenerator<string | Buffer> {
  yield head;
  yield* orderBatches(pool, lastId);
  yield ']';
}

function toJson([id, petId, quantity, shipDate, complete]: OrderRow): string {
  const date = shipDate === null ? '' : `,"shipDate":"${toRfc3339(shipDate)}"`;
  return `{"id":${id},"petId":${petId},"quantity":${quantity}${date},"complete":${complete === 't'}}`;
}

/** From `2026-01-02 03:04:05.6+00`. */
const toRfc3339 = (text: string): string =>
  `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(3, '0')}Z`;
