import { Exchange, type Field, type StatementValue, type WireConnection } from './exchange.ts';
import type { PipelinedConnections } from './pipelined-connections.ts';

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
 * @throws StorageUnavailableError
 */
export function runStatement<Row extends readonly Field[]>(
  connections: PipelinedConnections,
  statement: PreparedStatement<Row>,
  values: readonly StatementValue[],
): Promise<readonly Row[]> {
  return new Promise((resolve, reject) => {
    connections.send(new Execution(statement, values, resolve, reject));
  });
}

class Execution<Row extends readonly Field[]> extends Exchange {
  // pg's client keeps account of what is parsed by these two.
  readonly name: string;
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

  protected override write(connection: WireConnection): void {
    const { name, text } = this;
    connection.stream.cork(); // one packet
    if (connection.parsedStatements[name] === undefined && connection.submittedNamedStatements[name] === undefined) {
      connection.parse({ name, text });
      connection.submittedNamedStatements[name] = text;
    }
    connection.bind({ statement: name, values: this.#values });
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
