import type { Connection, Pool, Submittable } from 'pg';

/** Some 400 kB: large enough for a fast list, small enough for others to get their turn. */
const BATCH_ROWS = 4_000;
const LONGEST_ORDER_BYTES = 200;

const ID = Buffer.from(',{"id":');
const PET_ID = Buffer.from(',"petId":');
const QUANTITY = Buffer.from(',"quantity":');
const SHIP_DATE = Buffer.from(',"shipDate":"');
const COMPLETE = Buffer.from(',"complete":true}');
const NOT_COMPLETE = Buffer.from(',"complete":false}');

const TAB = 0x09;
const QUOTE = 0x22;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const CAPITAL_T = 0x54;
const CAPITAL_Z = 0x5a;
const BACKSLASH = 0x5c;
const SMALL_T = 0x74;

/** The orders behind an id as JSON, each behind a comma; in batches, of which one is fetched ahead of the reader. */
export async function* orderBatches(pool: Pool, afterId: string): AsyncGenerator<Buffer> {
  let next: Promise<OrderBatch> | undefined = fetchBatch(pool, afterId);
  while (next !== undefined) {
    const batch: OrderBatch = await next;
    next = batch.rowCount < BATCH_ROWS ? undefined : fetchBatch(pool, batch.lastId());
    // Should the reader be gone, nobody waits for it.
    next?.catch(() => {});
    if (batch.rowCount > 0) yield batch.json();
  }
}

async function fetchBatch(pool: Pool, afterId: string): Promise<OrderBatch> {
  const client = await pool.connect();
  try {
    const batch = new OrderBatch(afterId);
    client.query(batch);
    await batch.done;
    return batch;
  } finally {
    client.release();
  }
}

/** One COPY, whose rows are written as JSON byte by byte. */
class OrderBatch implements Submittable {
  rowCount = 0;
  readonly done: Promise<void>;
  readonly #afterId: string;
  readonly #settle = Promise.withResolvers<void>();
  readonly #bytes = Buffer.allocUnsafeSlow(BATCH_ROWS * LONGEST_ORDER_BYTES);
  #length = 0;
  #lastIdStart = 0;
  #lastIdEnd = 0;

  constructor(afterId: string) {
    this.#afterId = afterId;
    this.done = this.#settle.promise;
  }

  json(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  lastId(): string {
    return this.#bytes.toString('latin1', this.#lastIdStart, this.#lastIdEnd);
  }

  submit(connection: Connection): void {
    connection.query(
      `copy (select id, pet_id, quantity, ship_date, complete from orders
        where id > ${this.#afterId} order by id limit ${BATCH_ROWS}) to stdout`,
    );
  }

  /** One row: id, pet's id, quantity, time or `\N`, `t` or `f`, with tabs between. */
  handleCopyData({ chunk: row }: { readonly chunk: Buffer }): void {
    const out = this.#bytes;
    this.#lastIdStart = append(out, ID, this.#length);
    this.#lastIdEnd = copyField(out, this.#lastIdStart, row, 0);
    let i = this.#lastIdEnd - this.#lastIdStart + 1;
    let start = append(out, PET_ID, this.#lastIdEnd);
    let o = copyField(out, start, row, i);
    i += o - start + 1;
    start = append(out, QUANTITY, o);
    o = copyField(out, start, row, i);
    i += o - start + 1;
    if (row[i] !== BACKSLASH) o = appendTime(out, append(out, SHIP_DATE, o), row, i);
    i = row.indexOf(TAB, i) + 1;
    this.#length = append(out, row[i] === SMALL_T ? COMPLETE : NOT_COMPLETE, o);
    this.rowCount++;
  }

  handleReadyForQuery(): void {
    this.#settle.resolve();
  }

  handleError(error: Error): void {
    this.#settle.reject(error);
  }

  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}
}

function append(out: Buffer, text: Buffer, offset: number): number {
  for (let i = 0; i < text.length; i++) out[offset + i] = text[i] as number; // within its length
  return offset + text.length;
}

/** Copies a field up to its tab. @returns where it ends in `out` */
function copyField(out: Buffer, offset: number, row: Buffer, start: number): number {
  let o = offset;
  for (let i = start, byte = row[i]; byte !== TAB && byte !== undefined; byte = row[++i]) out[o++] = byte;
  return o;
}

/** Writes `2026-01-02 03:04:05.6+00` as `2026-01-02T03:04:05.600Z"`. */
function appendTime(out: Buffer, offset: number, row: Buffer, start: number): number {
  let o = offset;
  for (let i = start; i < start + 19; i++) out[o++] = row[i] as number; // a time is never shorter
  out[offset + 10] = CAPITAL_T;
  out[o++] = DOT;
  const decimalsEnd = o + 3;
  for (let i = start + 20; row[start + 19] === DOT && row[i] !== PLUS; i++) out[o++] = row[i] as number;
  while (o < decimalsEnd) out[o++] = ZERO;
  out[o++] = CAPITAL_Z;
  out[o++] = QUOTE;
  return o;
}
