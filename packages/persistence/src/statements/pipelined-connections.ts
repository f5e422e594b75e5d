import type pg from 'pg';
import { STATEMENT_TIMEOUT_MS } from '../connection-config.ts';
import { storageUnavailable, toStorageError } from '../storage-error.ts';
import type { OpenConnection } from './open-connection.ts';
import type { PipelinedQuery, QuerySender } from './pipelined-query.ts';

/** How long a connection may leave queries unanswered, in seconds; longer than a statement may take. */
const SILENCE_LIMIT_SECONDS = STATEMENT_TIMEOUT_MS / 1_000 + 2;

/** How soon a connection that failed to open is tried again while others serve, in milliseconds. */
const RECONNECT_DELAY_MS = 250;

/** How long closing waits for queries in flight, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2_000;

/** Errors after which a connection's prepared statements, or its server, are not what we think they are. */
const STALE_STATEMENT_STATES = new Set(['0A000', '25006', '26000', '42P05']);

/** One connection, and how many of its queries are complete. */
class PipelinedConnection {
  readonly #client: pg.Client;
  #sentCount = 0;
  #answeredCount = 0;
  #answeredCountBefore = 0;
  #silentSeconds = 0;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  /** How many of its queries are under way. */
  get owedCount(): number {
    return this.#sentCount - this.#answeredCount;
  }

  send(query: PipelinedQuery): void {
    query.onAnswered = this.#onAnswered;
    this.#sentCount++;
    this.#client.query(query);
  }

  /** To be called every second. Closes a connection whose server hangs. */
  checkSilence(): void {
    const isSilent = this.owedCount > 0 && this.#answeredCount === this.#answeredCountBefore;
    this.#silentSeconds = isSilent ? this.#silentSeconds + 1 : 0;
    this.#answeredCountBefore = this.#answeredCount;
    if (this.#silentSeconds >= SILENCE_LIMIT_SECONDS) this.#destroy();
  }

  /** Ends once every query is complete, at the latest after {@link CLOSE_TIMEOUT_MS}. */
  async close(): Promise<void> {
    const deadline = setTimeout(() => this.#destroy(), CLOSE_TIMEOUT_MS);
    await this.#client.end();
    clearTimeout(deadline);
  }

  readonly #onAnswered = (error?: Error): void => {
    this.#answeredCount++;
    // A migration, for instance, has changed what the connection's statements were prepared for.
    if (error !== undefined && 'code' in error && STALE_STATEMENT_STATES.has(String(error.code))) this.#destroy();
  };

  /** Fails the queries in flight. The next query opens another connection. */
  #destroy(): void {
    this.#client.connection.stream.destroy();
  }
}

interface Slot {
  connection?: PipelinedConnection;
  connecting?: Promise<PipelinedConnection>;
  retryAt: number;
}

/**
 * A fixed number of connections, opened when they are first needed and again after they were lost. Statements are sent
 * without waiting for the results of those before, because waking another process for each statement costs most. Each
 * goes to the connection that owes the fewest results, so few wait behind one that takes long.
 *
 * Each statement is a transaction of its own.
 */
export class PipelinedConnections implements QuerySender {
  readonly #openConnection: OpenConnection;
  readonly #slots: readonly Slot[];
  readonly #silenceCheck: NodeJS.Timeout;
  #nextIndex = 0;
  #closed = false;

  /** @param size how many connections; those that commit gain from more, because a connection commits one by one */
  constructor(openConnection: OpenConnection, size: number) {
    this.#openConnection = openConnection;
    this.#slots = Array.from({ length: size }, () => ({ retryAt: 0 }));
    this.#silenceCheck = setInterval(() => {
      for (const { connection } of this.#slots) connection?.checkSilence();
    }, 1_000).unref();
  }

  send(query: PipelinedQuery): void {
    const slot = this.#nextSlot();
    const connection = this.#leastOwing();
    // While a connection is being opened, the others serve.
    if (connection === undefined) {
      void this.#sendWhenConnected(slot, query);
      return;
    }
    if (slot.connection === undefined && slot.retryAt <= performance.now()) this.#connect(slot).catch(() => {});
    connection.send(query);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#silenceCheck);
    await Promise.all(
      this.#slots.map(async (slot) => {
        const connection = slot.connection ?? (await slot.connecting?.catch(() => undefined));
        await connection?.close();
      }),
    );
  }

  /** Of several that owe the same, the next in turn. */
  #leastOwing(): PipelinedConnection | undefined {
    let least: PipelinedConnection | undefined;
    for (let i = 0; i < this.#slots.length; i++) {
      const { connection } = this.#slots[(this.#nextIndex + i) % this.#slots.length] as Slot; // within the array
      if (connection === undefined) continue;
      if (connection.owedCount === 0) return connection;
      if (least === undefined || connection.owedCount < least.owedCount) least = connection;
    }
    return least;
  }

  async #sendWhenConnected(slot: Slot, query: PipelinedQuery): Promise<void> {
    try {
      (await this.#connect(slot)).send(query);
    } catch (error) {
      query.handleError(toStorageError(error));
    }
  }

  #nextSlot(): Slot {
    this.#nextIndex = (this.#nextIndex + 1) % this.#slots.length;
    return this.#slots[this.#nextIndex] as Slot; // the index is within the array
  }

  #connect(slot: Slot): Promise<PipelinedConnection> {
    slot.connecting ??= this.#open(slot).finally(() => {
      delete slot.connecting;
    });
    return slot.connecting;
  }

  async #open(slot: Slot): Promise<PipelinedConnection> {
    if (this.#closed) throw storageUnavailable('this process has closed its connections');
    let connection: PipelinedConnection | undefined;
    // The queries in flight fail by themselves, and the next one opens another connection.
    const forget = () => {
      if (slot.connection === connection) delete slot.connection;
    };
    try {
      connection = new PipelinedConnection(await this.#openConnection(forget));
    } catch (error) {
      slot.retryAt = performance.now() + RECONNECT_DELAY_MS;
      throw error;
    }
    slot.connection = connection;
    return connection;
  }
}

/** The connections of a store, by what runs on them, so that short statements never queue behind long ones. */
export interface ConnectionPools {
  /** For short reads. */
  readonly reads: PipelinedConnections;
  /** For statements that commit. */
  readonly writes: PipelinedConnections;
  /** For the batches of long listings. */
  readonly batches: PipelinedConnections;
  /** For statements that may read the whole table to find few orders. */
  readonly scans: PipelinedConnections;
}
