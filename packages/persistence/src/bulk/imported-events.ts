import { type ChangeOrigin, SERVICE_ORIGIN } from '@petstore/domain';
import type pg from 'pg';
import { recordEvents } from '../statements/order-records.ts';
import { copyInto } from './copy-into.ts';

const TABLE = 'imported_ids';

/** How long the transaction stays open at most once nothing more is sent, in milliseconds. */
const OPEN_MS = 5_000;

/** Their last time is that of the import, which knows no other. */
const RECORD = recordEvents(`orders join ${TABLE} using (id)`, {
  type: 'order.imported',
  at: 'greatest(placed_at, shipped_at, completed_at, cancelled_at)',
  actor: '$1::text',
  requestId: '$2::text',
});

/** Adds the ids of `inserted`, in a statement that has inserted orders. */
export const ADD_INSERTED = `insert into ${TABLE} select id from inserted`;

/**
 * Records the orders of an import in the log of events. The last statement of the transaction does so, because readers
 * of the log wait for every event that is written and not committed.
 */
export class ImportedEvents {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  /** @param client in an open transaction */
  static async begin(client: pg.Client): Promise<ImportedEvents> {
    await client.query(`create temporary table ${TABLE} (id bigint not null) on commit drop`);
    return new ImportedEvents(client);
  }

  /** @param ids as COPY reads them, each with its line end */
  add(ids: string): Promise<void> {
    return copyInto(this.#client, `${TABLE} (id)`, ids);
  }

  async record({ actor, requestId }: ChangeOrigin = SERVICE_ORIGIN): Promise<void> {
    // Followers wait for the end of this transaction, so it must not be left open: not even by a client that hangs.
    await this.#client.query(`set local idle_in_transaction_session_timeout = '${OPEN_MS}ms'`);
    await this.#client.query(`analyze ${TABLE}`);
    await this.#client.query(RECORD, [actor, requestId ?? null]);
  }
}
