import pg from 'pg';
import { expect, test } from 'vitest';
import { assertDriverFits } from '../src/statements/pipelined-query.ts';

/** A client that has not connected, with some parts other than they are. */
function clientWith(change: (client: pg.Client & { connection: object }) => void): pg.Client {
  const client = new pg.Client({ pipeline: true });
  change(client);
  return client;
}

test('the installed driver has what the queries use', () => {
  expect(() => assertDriverFits()).not.toThrow();
});

test.each<[string, (client: pg.Client & { connection: object }) => void]>([
  ['connection.parsedStatements', ({ connection }) => Reflect.deleteProperty(connection, 'parsedStatements')],
  ['connection.sync', ({ connection }) => Object.assign(connection, { sync: undefined })],
  // As pg 8.23.1 does with objects of other classes.
  ['queries of other classes in pipeline mode', (client) => Object.assign(client, { query: () => undefined })],
])('a driver without %s is refused at the start, by a message that says so', (missing, change) => {
  expect(() => assertDriverFits(clientWith(change))).toThrow(
    `The installed version of pg lacks ${missing}. This program works with pg 8.23.0 and 8.23.1.`,
  );
});
