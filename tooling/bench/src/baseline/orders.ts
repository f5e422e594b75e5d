import { Readable } from 'node:stream';
import { openPipelines } from './pipelined.ts';

export type CancelOutcome = 'cancelled' | 'was-cancelled' | 'was-shipped' | 'unknown';

interface Page {
  /** The orders as JSON, without brackets. */
  readonly json: string;
  readonly count: number;
  readonly lastId: string;
}

const CANCEL = {
  name: 'cancel',
  text: `update orders set status = 'cancelled', cancelled_at = now() where id = $1 and status = 'pending'`,
};
const FIND = { name: 'find', text: 'select status from orders where id = $1' };

const PAGE_ROWS = 4_000;
const LOWEST_ID = '-9223372036854775808';
/** PostgreSQL writes the JSON of a page, which is less work than sending and parsing its values. */
const LIST_PAGE = {
  name: 'list-page',
  text: `select coalesce(max(id), 0)::text as "lastId", count(*)::integer as count, coalesce(string_agg(
      '{"id":' || id || ',"petId":' || pet_id || ',"quantity":' || quantity
        || coalesce(',"shipDate":"' || to_char(ship_date, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', '')
        || ',"complete":' || complete || '}', ',' order by id), '') as json
    from (select * from orders where id > $1 order by id limit ${PAGE_ROWS}) as page`,
};

export function createOrders(databaseUrl: string) {
  const reads = openPipelines(databaseUrl, 2);
  // More than for reads, because a connection commits one statement after the other.
  const writes = openPipelines(databaseUrl, 8);

  async function readPage(afterId: string): Promise<Page | undefined> {
    return (await (await reads()).query<Page>(LIST_PAGE, [afterId])).rows[0];
  }

  /** Reads one page ahead. */
  async function* pagesFrom(first: Page | undefined): AsyncGenerator<string> {
    let page = first;
    for (let separator = '['; page !== undefined && page.count > 0; separator = ',') {
      const next = page.count < PAGE_ROWS ? undefined : readPage(page.lastId);
      yield separator + page.json;
      page = await next;
    }
    yield ']';
  }

  return {
    async cancel(id: string): Promise<CancelOutcome> {
      const { rowCount } = await (await writes()).query(CANCEL, [id]);
      if (rowCount === 1) return 'cancelled';
      const { rows } = await (await reads()).query<{ status: string }>(FIND, [id]);
      if (rows[0] === undefined) return 'unknown';
      return rows[0].status === 'shipped' ? 'was-shipped' : 'was-cancelled';
    },

    /** Returns a short list in one piece, and a long one as a stream. */
    async list(): Promise<string | Readable> {
      const first = await readPage(LOWEST_ID);
      if (first === undefined || first.count < PAGE_ROWS) return `[${first?.json ?? ''}]`;
      return Readable.from(pagesFrom(first), { objectMode: false, highWaterMark: 1 });
    },
  };
}
