import type { Duplex } from 'node:stream';
import type { Connection, Submittable } from 'pg';
import { toStorageError } from '../storage-error.ts';
import type { PipelinedConnection } from './pipelined-connections.ts';

/** What pg's connection offers to a query object. The published types still tell of an older version. */
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

/**
 * One thing sent to the server, and what comes back. pg's client hands the messages of the protocol to the object that
 * it was given; the usual ones (`pg.Query`) ask for a description of each result and make an object of each row, which
 * costs more than the statement where the columns are known beforehand.
 *
 * @see https://www.postgresql.org/docs/current/protocol-flow.html
 */
export abstract class Exchange implements Submittable {
  #connection: PipelinedConnection | undefined;

  sendOn(connection: PipelinedConnection): void {
    this.#connection = connection;
    connection.sentCount++;
    connection.client.query(this);
  }

  submit(connection: Connection): void {
    this.write(connection as unknown as WireConnection); // see WireConnection
  }

  handleReadyForQuery(): void {
    if (this.#connection !== undefined) this.#connection.answeredCount++;
    this.succeed();
  }

  handleError(error: Error): void {
    if (this.#connection !== undefined) {
      this.#connection.answeredCount++;
      this.#connection.noteError(error);
    }
    this.fail(toStorageError(error));
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
