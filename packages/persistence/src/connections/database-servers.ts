import { StorageUnavailableError } from '@petstore/domain';
import pg from 'pg';
import { connectionConfig, OPEN_TIMEOUT_MS } from '../connection-config.ts';
import { storageUnavailable } from '../storage-error.ts';
import {
  assertSessionStays,
  readSessionFacts,
  type SessionFacts,
  type SessionSettings,
  setSession,
} from './session.ts';

/** How long a server has before the next one is tried beside it, in milliseconds. */
const NEXT_SERVER_AFTER_MS = 300;

/** In which steps the time is counted that opening takes, in milliseconds. */
const OPEN_STEP_MS = 100;

/** How long a connection that is not needed any more has for its end, in milliseconds. */
const END_TIMEOUT_MS = 1_000;

export interface OpenOptions {
  readonly session: SessionSettings;
  /** Whether a server that takes no writes is as good as none. Otherwise it is taken where there is no other. */
  readonly forWrites: boolean;
  /** Whether statements are sent without waiting for the results of those before. @default false */
  readonly pipeline?: boolean;
}

/** A connection whose session is as wanted. If it is lost no event goes without a listener. */
export interface OpenedConnection {
  readonly client: pg.Client;
  readonly isReadOnly: boolean;
}

type Address = Pick<pg.Client, 'host' | 'port'>;

/** The servers of one database, of which at most one takes writes. */
export class DatabaseServers {
  /** The one that took writes last comes first. */
  #urls: readonly string[];
  /** By host and port, what was found of a pooler. */
  readonly #poolerChecks = new Map<string, Promise<void>>();

  /** @param urls of the same database, one for each server */
  constructor(urls: string | readonly string[]) {
    this.#urls = typeof urls === 'string' ? [urls] : urls;
  }

  /** A connection that has not been made. Where to is only one of the servers. */
  get config(): pg.ClientConfig {
    return connectionConfig(this.#urls[0] ?? '');
  }

  /**
   * Opens a connection to the first server that takes writes, in the order of the URLs. One that does not respond at once
   * holds up the next for a moment only.
   *
   * @throws StorageUnavailableError
   */
  open({ session, forWrites, pipeline = false }: OpenOptions): Promise<OpenedConnection> {
    const { promise, resolve, reject } = Promise.withResolvers<OpenedConnection>();
    const waiting = [...this.#urls];
    const failures: unknown[] = [];
    let openingCount = 0;
    let readOnly: OpenedConnection | undefined;
    let isDone = false;

    const take = (url: string, opened: OpenedConnection): void => {
      if (!isDone && !opened.isReadOnly) {
        isDone = true;
        this.#urls = [url, ...this.#urls.filter((each) => each !== url)];
        resolve(opened);
      } else if (!isDone && !forWrites && readOnly === undefined) {
        readOnly = opened;
      } else {
        if (opened.isReadOnly) failures.push(new Error('it is read-only'));
        void endConnection(opened.client);
      }
    };
    const tryNext = async (): Promise<void> => {
      const url = waiting.shift();
      if (url === undefined || isDone) return;
      const nextTimer = setTimeout(tryNext, NEXT_SERVER_AFTER_MS);
      openingCount++;
      await this.#openAt(url, session, pipeline).then(
        (opened) => take(url, opened),
        (error: unknown) => failures.push(error),
      );
      openingCount--;
      clearTimeout(nextTimer);
      void tryNext();
      if (isDone) {
        if (readOnly !== undefined) void endConnection(readOnly.client);
        readOnly = undefined;
      } else if (openingCount === 0) {
        isDone = true;
        if (readOnly === undefined) reject(failureOf(failures));
        else resolve(readOnly);
      }
    };
    void tryNext();
    return promise;
  }

  /** Where {@link open} would connect to. */
  async locate({ forWrites }: Pick<OpenOptions, 'forWrites'>): Promise<Address> {
    if (this.#urls.length === 1) return new pg.Client(this.config);
    const { client } = await this.open({ forWrites, session: {} });
    void endConnection(client);
    return client;
  }

  /**
   * Makes the session of a new connection what is wanted.
   *
   * @throws StorageUnavailableError where it cannot be that, and what pg throws
   */
  async begin(client: pg.Client, session: SessionSettings): Promise<SessionFacts> {
    const facts = await readSessionFacts(client);
    // A server names its process when a connection is made; a pooler names one that does not exist.
    const { processID } = client as pg.Client & { readonly processID?: number }; // the published types lack it
    if (facts.backendPid !== processID) await this.#checkPooler(client);
    await setSession(client, session);
    return facts;
  }

  async #openAt(url: string, session: SessionSettings, pipeline: boolean): Promise<OpenedConnection> {
    const client = new pg.Client({ ...connectionConfig(url), pipeline });
    client.on('error', () => {}); // what is under way fails, too
    try {
      const { isReadOnly } = await withinTimeout(client, async () => {
        await client.connect();
        return this.begin(client, session);
      });
      return { client, isReadOnly };
    } catch (error) {
      void endConnection(client);
      throw error;
    }
  }

  /** Checked once for each server, and again after a check has failed. */
  #checkPooler(client: pg.Client): Promise<void> {
    const key = `${client.host}:${client.port}`;
    let check = this.#poolerChecks.get(key);
    if (check === undefined) {
      check = checkPooler(client, this.config);
      this.#poolerChecks.set(key, check);
      check.catch(() => this.#poolerChecks.delete(key));
    }
    return check;
  }
}

/** @param config of the same database, at any server */
async function checkPooler(client: pg.Client, config: pg.ClientConfig): Promise<void> {
  const other = moveTo(new pg.Client(config), client);
  other.on('error', () => {});
  try {
    await withinTimeout(other, async () => {
      await other.connect();
      await assertSessionStays(client, other);
    });
  } finally {
    void endConnection(other);
  }
}

/** Lets a client that has not connected yet connect to another server. */
export const moveTo = (client: pg.Client, { host, port }: Address): pg.Client => Object.assign(client, { host, port });

/**
 * Breaks the connection off where opening takes too long. Time is counted in steps, so a process that stood still reads
 * first what has come meanwhile.
 */
export async function withinTimeout<Value>(client: pg.Client, opening: () => Promise<Value>): Promise<Value> {
  let stepsLeft = OPEN_TIMEOUT_MS / OPEN_STEP_MS;
  const timer = setInterval(() => {
    if (--stepsLeft === 0) client.connection.stream.destroy(new Error('timeout expired'));
  }, OPEN_STEP_MS);
  try {
    return await opening();
  } finally {
    clearInterval(timer);
  }
}

/** Ends a connection when what is under way on it is complete, or the time is over. */
export async function endConnection(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), END_TIMEOUT_MS).unref();
  await client.end().finally(() => clearTimeout(timer));
}

/** Of several servers each reason counts, once. */
function failureOf(failures: readonly unknown[]): StorageUnavailableError {
  const [first, ...others] = new Map(failures.map((failure) => [String(failure), failure])).values();
  if (others.length > 0) return storageUnavailable(new AggregateError([first, ...others].map(causeOf)));
  return first instanceof StorageUnavailableError ? first : storageUnavailable(first);
}

const causeOf = (failure: unknown): unknown =>
  failure instanceof StorageUnavailableError && failure.cause instanceof Error ? failure.cause : failure;
