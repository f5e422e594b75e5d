import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();

/** It may read everything, and write nothing. */
const role = `reader_${randomUUID().replaceAll('-', '')}`;
let asSuperuser: pg.Client;
beforeAll(async () => {
  asSuperuser = new pg.Client(commandLine.url);
  await asSuperuser.connect();
  await asSuperuser.query(`create role ${role} login password 'secret'; grant pg_read_all_data to ${role}`);
});
afterAll(async () => {
  await asSuperuser.query(`drop role ${role}`);
  await asSuperuser.end();
});

test.each([
  ['keys create --plan free', 'table key_events'],
  ['orders generate --count 1', 'sequence orders_id_seq'],
  ['orders import -', 'sequence orders_id_seq'],
  ['pets import -', 'table pets'],
])('a role that may not is told so in one line: %s', async (line, object) => {
  const url = Object.assign(new URL(commandLine.url), { username: role, password: 'secret' });
  const result = await commandLine.run(line.split(' '), {
    environment: { DATABASE_URL: url.href, MIGRATE: 'off' },
    stdin: line.startsWith('pets') ? '{"id":1,"name":"Rex"}' : '{"id":1,"petId":1,"quantity":1}',
  });
  const stderr = expect.stringMatching(
    new RegExp(
      `^petstore: permission denied for ${object}; it needs a role like petstore_server \\(docs/operations.md, "Roles"\\)\\n$`,
    ),
  );
  expect(result).toEqual({ code: 1, stdout: '', stderr });
});
