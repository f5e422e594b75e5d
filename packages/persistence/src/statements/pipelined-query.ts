import type { Duplex } from 'node:stream';
import pg from 'pg';
import { toStorageError } from '../storage-error.ts';

/** The part of pg's connection that queries write to. The published types describe an older version. */
export interface WireConnection {
  readonly stream: Duplex;
  /** Names of statements that the server has parsed, with their texts. */
  readonly parsedStatements: Record<string, string>;
  /** The same for statements on their way. */
  readonly submittedNamedStatements: Record<string, string>;
  query(text: string): void;
  parse(statement: { readonly name: string; readonly text: string }): void;
  bind(values: { readonly statement: string; readonly values: readonly StatementValue[] }): void;
  execute(): void;
  sync(): void;
}

/** A value of a parameter: text as PostgreSQL reads it, bytes, or null. */
export type StatementValue = string | Buffer | null;

/** A column's value as the server writes it. */
export type Field = string | null;

/** Sends queries: a connection, or a choice of several. */
export interface QuerySender {
  /** The query alone learns the outcome, a failure to connect included. */
  send(query: PipelinedQuery): void;
}

/**
 * One message to the server, and the messages that come back. pg's client passes them to the object that it was given.
 * Its own one (`pg.Query`) asks for a description of each result and makes an object of each row, which costs more than
 * the statement where the columns are known beforehand.
 *
 * @see https://www.postgresql.org/docs/current/protocol-flow.html
 */
export abstract class PipelinedQuery implements pg.Submittable {
  /** Called once, when the server has responded or the connection is lost. Set by the connection that sends the query. */
  onComplete: ((query: PipelinedQuery, error?: Error) => void) | undefined;
  /** When it was sent, in checks of the pool that sends it. */
  sentAtCheck = 0;
  /** The same by `performance.now()`. */
  sentAtMs = 0;
  /** How long its caller waits, in milliseconds. @default as long as the pool says */
  patienceMs: number | undefined;
  #isGivenUp = false;

  /** Whether its caller waits no longer. The server may carry it out all the same. */
  get isGivenUp(): boolean {
    return this.#isGivenUp;
  }

  submit(connection: pg.Connection): void {
    this.write(connection as unknown as WireConnection); // see WireConnection
  }

  handleReadyForQuery(): void {
    this.onComplete?.(this);
    if (!this.#isGivenUp) this.succeed();
  }

  handleError(error: Error): void {
    this.onComplete?.(this, error);
    if (!this.#isGivenUp) this.fail(toStorageError(error));
  }

  /** Fails for its caller. What the server still sends for it is passed over. */
  giveUp(error: Error): void {
    if (this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.fail(error);
  }

  // Messages that carry nothing we need.
  handleRowDescription(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}

  handleDataRow(_message: { readonly fields: Field[] }): void {}
  handleCopyData(_message: { readonly chunk: Buffer }): void {}

  protected abstract write(connection: WireConnection): void;
  protected abstract succeed(): void;
  protected abstract fail(error: Error): void;
}

// From 8.23.1 on, clients in pipeline mode take no other queries. Its constructor would cost more than ours.
Object.setPrototypeOf(PipelinedQuery.prototype, pg.Query.prototype);

declare const row: unique symbol;

/** A statement that each connection parses and plans once. `Row` is what its columns are, in their order. */
export interface PreparedStatement<Row extends readonly Field[]> {
  readonly name: string;
  readonly text: string;
  readonly [row]?: Row;
}

export const prepareStatement = <Row extends readonly Field[]>(name: string, text: string): PreparedStatement<Row> => ({
  name,
  text,
});

/**
 * Runs a statement in one round trip.
 *
 * @param patienceMs how long the caller waits, where that is not as long as the sender's callers do
 * @throws StorageUnavailableError
 */
export function runStatement<Row extends readonly Field[]>(
  sender: QuerySender,
  statement: PreparedStatement<Row>,
  values: readonly StatementValue[],
  patienceMs?: number,
): Promise<readonly Row[]> {
  return new Promise((resolve, reject) => {
    const query = new StatementQuery(statement, values, resolve, reject);
    query.patienceMs = patienceMs;
    sender.send(query);
  });
}

/** How much longer than to its caller's deadline a statement may take, in milliseconds: it was sent before, perhaps just. */
const LAST_STATEMENT_MS = 400;

/** How long a statement is waited for by callers that have a deadline by `performance.now()`, in milliseconds. */
export function patienceUntil(callers: Iterable<{ readonly deadlineMs: number }>): number {
  let deadlineMs = Number.POSITIVE_INFINITY;
  for (const caller of callers) deadlineMs = Math.min(deadlineMs, caller.deadlineMs);
  return deadlineMs + LAST_STATEMENT_MS - performance.now();
}

class StatementQuery<Row extends readonly Field[]> extends PipelinedQuery {
  // pg's client keeps account of what is parsed by these two.
  name: string;
  readonly text: string;
  readonly #values: readonly StatementValue[];
  readonly #resolve: (rows: readonly Row[]) => void;
  readonly #reject: (error: Error) => void;
  readonly #rows: Row[] = [];

  constructor(
    statement: PreparedStatement<Row>,
    values: readonly StatementValue[],
    resolve: (rows: readonly Row[]) => void,
    reject: (error: Error) => void,
  ) {
    super();
    this.name = statement.name;
    this.text = statement.text;
    this.#values = values;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /**
   * While the statement is on its way to be parsed, each query brings the text itself, without the name: none counts on
   * what may fail for another.
   */
  protected override write(connection: WireConnection): void {
    const { text } = this;
    const isParsed = connection.parsedStatements[this.name] !== undefined;
    if (!isParsed && connection.submittedNamedStatements[this.name] !== undefined) this.name = '';
    connection.stream.cork(); // one packet
    if (!isParsed) connection.parse({ name: this.name, text });
    if (!isParsed && this.name !== '') connection.submittedNamedStatements[this.name] = text;
    connection.bind({ statement: this.name, values: this.#values });
    connection.execute();
    connection.sync();
    connection.stream.uncork();
  }

  override handleDataRow({ fields }: { readonly fields: Field[] }): void {
    this.#rows.push(fields as readonly Field[] as Row); // the columns that the statement's author declared
  }

  protected override succeed(): void {
    this.#resolve(this.#rows);
  }

  protected override fail(error: Error): void {
    this.#reject(error);
  }
}

/**
 * Checks that the installed pg offers what queries here use beyond its documented interface.
 *
 * @throws Error naming what is missing
 */
export function assertDriverFits(client: object = new pg.Client({ pipeline: true })): void {
  const { connection = {}, _queryQueue: queue } = client as {
    connection?: Record<string, unknown>;
    _queryQueue?: unknown;
  };
  const functions = ['query', 'parse', 'bind', 'execute', 'sync'].filter(
    (name) => typeof connection[name] !== 'function',
  );
  const records = ['stream', 'parsedStatements', 'submittedNamedStatements'].filter(
    (name) => typeof connection[name] !== 'object',
  );
  const missing = [...functions, ...records].map((name) => `connection.${name}`);
  if (!acceptsQuery(client as pg.Client, queue)) missing.push('queries of other classes in pipeline mode');
  if (missing.length === 0) return;
  throw new Error(
    `The installed version of pg lacks ${missing.join(', ')}. This program works with pg 8.23.0 and 8.23.1.`,
  );
}

/** A client that has not connected only queues what it accepts. */
function acceptsQuery(client: pg.Client, queue: unknown): boolean {
  const query = new StatementQuery(
    prepareStatement('probe', 'select'),
    [],
    () => {},
    () => {},
  );
  client.query(query);
  return Array.isArray(queue) && queue.includes(query);
}
