/** A value of a parameter: text as PostgreSQL reads it, an array of texts, bytes, or null. */
export type StatementValue = string | Buffer | null | readonly (string | null)[];

/** The value of a column as the server writes it. */
export type Field = string | null;

declare const row: unique symbol;

/** A statement that each connection parses and plans once. `Row` holds the columns, in their order. */
export interface PreparedStatement<Row extends readonly Field[]> {
  readonly name: string;
  readonly text: string;
  readonly [row]?: Row;
}

/** @param name unique in the program: PostgreSQL knows the statement by it */
export const prepareStatement = <Row extends readonly Field[]>(name: string, text: string): PreparedStatement<Row> => ({
  name,
  text,
});

/** Runs statements, each a transaction of its own. */
export interface QuerySender {
  /** @throws StorageUnavailableError (as a rejection) within three seconds, or what PostgreSQL says of the statement */
  run<Row extends readonly Field[]>(
    statement: PreparedStatement<Row>,
    values: readonly StatementValue[],
  ): Promise<readonly Row[]>;
}

/** Observes how long statements take, their wait for a connection included. */
export interface DurationObserver {
  /** Called when a statement has ended, whether or not it succeeded. Must be cheap and never throw. */
  observe(durationSeconds: number): void;
}
