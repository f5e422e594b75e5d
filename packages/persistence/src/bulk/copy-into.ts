import pg from 'pg';

/**
 * Writes rows by COPY, in half of the time of an INSERT. They are in the table when it resolves, or none of them is.
 *
 * @param target the table with its columns, as in `pets (id, name)`
 * @param rows in the text format of COPY, each with its line end
 */
export function copyInto(client: pg.Client, target: string, rows: string): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyQuery(`copy ${target} from stdin`, rows, (error) => (error ? reject(error) : resolve())));
  });
}

declare module 'pg' {
  /** What its types leave out. */
  interface Connection {
    sendCopyFromChunk(chunk: Buffer): void;
    endCopyFrom(): void;
  }
}

class CopyQuery extends pg.Query {
  readonly #statement: string;
  readonly #rows: Buffer;

  constructor(statement: string, rows: string, callback: (error: Error | null | undefined) => void) {
    super(statement, undefined, callback);
    this.#statement = statement;
    this.#rows = Buffer.from(rows);
  }

  /**
   * Sends the rows behind the statement. Waiting until PostgreSQL asks for them would double the time of an import, which
   * parses meanwhile; where PostgreSQL refuses the statement, it drops what follows (PostgreSQL's manual, "COPY
   * Operations" of the message flow).
   */
  override submit = (connection: pg.Connection): void => {
    connection.query(this.#statement);
    connection.sendCopyFromChunk(this.#rows);
    connection.endCopyFrom();
  };

  /** Called when PostgreSQL asks for the rows, which have been sent. pg's own query has none, and refuses. */
  handleCopyInResponse(): void {}
}

/** A text as a column of a row; what COPY would take for a border or an escape is escaped. */
export const copyText = (text: string): string => text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? '');

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** A column without a value. */
export const COPY_NULL = '\\N';
