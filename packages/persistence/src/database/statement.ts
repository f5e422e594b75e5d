/** The value of a parameter: a text that PostgreSQL parses, an array of texts, bytes, or null. */
export type StatementValue = string | Buffer | null | readonly (string | null)[];

/** The value of a column as the server writes it. */
export type Field = string | null;

declare const row: unique symbol;

/** A statement that each connection parses and plans once. `Row` lists the columns in order. */
export interface PreparedStatement<Row extends readonly Field[]> {
  readonly name: string;
  readonly text: string;
  readonly [row]?: Row;
}

/** @param name PostgreSQL's name for the statement, unique in the program */
export const prepareStatement = <Row extends readonly Field[]>(name: string, text: string): PreparedStatement<Row> => ({
  name,
  text,
});

/** Runs statements, each in a transaction of its own. */
export interface QuerySender {
  /** @throws StorageUnavailableError (as a rejection) within three seconds, or PostgreSQL's error for the statement */
  run<Row extends readonly Field[]>(
    statement: PreparedStatement<Row>,
    values: readonly StatementValue[],
  ): Promise<readonly Row[]>;
}

/** Observes how long statements take, including the wait for a connection. */
export interface DurationObserver {
  /** Called when a statement has ended, whether it succeeded or failed. Must be cheap and never throw. */
  observe(durationSeconds: number): void;
}
