import pg from 'pg';
import { connectionConfig, STATEMENT_TIMEOUT_MS } from '../connection-config.ts';
import { storageUnavailable, toStorageError } from '../storage-error.ts';
import type { Exchange } from './exchange.ts';

/** How long a connection may owe an answer without giving any, in seconds; longer than a statement may take. */
const SILENCE_LIMIT_SECONDS = STATEMENT_TIMEOUT_MS / 1_000 + 2;

/** How soon a connection that could not be made is tried again while others serve, in milliseconds. */
const RECONNECT_DELAY_MS = 250;

/** How long closing waits for answers that are still owed, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2_000;

/** Errors after which a connection's prepared statements are not what we think they are. */
const STALE_STATEMENT_STATES = new Set(['0A000', '26000', '42P05']);

/** One connection, and how much it owes. */
export class PipelinedConnection {
  readonly client: pg.Client;
  sentCount = 0;
  answeredCount = 0;
  silentSeconds = 0;
  #answeredCountBefore = 0;

  constructor(client: pg.Client) {
    this.client = client;
  }

  /** To be called every second: closes a connection whose server hangs, so that nobody waits for ever. */
  checkSilence(): void {
    const isSilent = this.sentCount !== this.answeredCount && this.answeredCount === this.#answeredCountBefore;
    this.silentSeconds = isSilent ? this.silentSeconds + 1 : 0;
    this.#answeredCountBefore = this.answeredCount;
    if (this.silentSeconds >= SILENCE_LIMIT_SECONDS) this.destroy();
  }

  /** Fails what is under way, and makes room for a fresh connection. */
  destroy(): void {
    this.client.connection.stream.destroy();
  }

  /** Says goodbye once everything is answered; a server that hangs is left after a while. */
  async close(): Promise<void> {
    const deadline = setTimeout(() => this.destroy(), CLOSE_TIMEOUT_MS);
    await this.client.end();
    clearTimeout(deadline);
  }

  /** Statements may have changed under a connection, by a migration for instance: it is replaced. */
  noteError(error: Error): void {
    if ('code' in error && STALE_STATEMENT_STATES.has(String(error.code))) this.destroy();
  }
}

interface Slot {
  connection?: PipelinedConnection;
  connecting?: Promise<PipelinedConnection>;
  retryAt: number;
}

/**
 * A fixed number of connections, made when they are first needed and again when they were lost, on which statements are
 * sent without waiting for the answers to those before: what costs most is to wake another process for each statement.
 *
 * Each statement is a transaction of its own.
 */
export class PipelinedConnections {
  readonly #databaseUrl: string;
  readonly #slots: readonly Slot[];
  readonly #silenceCheck: NodeJS.Timeout;
  #turn = 0;
  #closed = false;

  /** @param size how many connections; those that commit gain from more, because a connection commits one by one */
  constructor(databaseUrl: string, size: number) {
    this.#databaseUrl = databaseUrl;
    this.#slots = Array.from({ length: size }, () => ({ retryAt: 0 }));
    this.#silenceCheck = setInterval(() => {
      for (const { connection } of this.#slots) connection?.checkSilence();
    }, 1_000).unref();
  }

  /** Sends something; its outcome, a failure to connect included, is told to the exchange alone. */
  send(exchange: Exchange): void {
    const slot = this.#nextSlot();
    const connection = slot.connection ?? this.#insteadOf(slot);
    if (connection !== undefined) exchange.sendOn(connection);
    else void this.#sendWhenConnected(slot, exchange);
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

  /** While a connection is being made, any other does. */
  #insteadOf(slot: Slot): PipelinedConnection | undefined {
    const other = this.#slots.find(({ connection }) => connection !== undefined);
    if (other !== undefined && slot.retryAt <= performance.now()) this.#connect(slot).catch(() => {});
    return other?.connection;
  }

  async #sendWhenConnected(slot: Slot, exchange: Exchange): Promise<void> {
    try {
      exchange.sendOn(await this.#connect(slot));
    } catch (error) {
      exchange.handleError(toStorageError(error));
    }
  }

  #nextSlot(): Slot {
    this.#turn = (this.#turn + 1) % this.#slots.length;
    return this.#slots[this.#turn] as Slot; // the index is within the array
  }

  #connect(slot: Slot): Promise<PipelinedConnection> {
    slot.connecting ??= this.#open(slot).finally(() => {
      delete slot.connecting;
    });
    return slot.connecting;
  }

  async #open(slot: Slot): Promise<PipelinedConnection> {
    if (this.#closed) throw storageUnavailable('this process has closed its connections');
    const client = new pg.Client({ ...connectionConfig(this.#databaseUrl, STATEMENT_TIMEOUT_MS), pipeline: true });
    const connection = new PipelinedConnection(client);
    // A lost connection tells those who wait for it; nobody else needs to know, the next statement makes another.
    const forget = () => {
      if (slot.connection === connection) delete slot.connection;
    };
    client.on('error', forget);
    client.on('end', forget);
    try {
      await client.connect();
    } catch (error) {
      slot.retryAt = performance.now() + RECONNECT_DELAY_MS;
      throw storageUnavailable(error);
    }
    slot.connection = connection;
    return connection;
  }
}
