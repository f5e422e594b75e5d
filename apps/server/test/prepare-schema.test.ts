import { NewerDatabaseError, openPersistence } from '@petstore/persistence';
import pg from 'pg';
import pino from 'pino';
import { expect, test } from 'vitest';
import { schemaPreparer } from '../src/operations/prepare-schema.ts';
import { createServerDatabase } from './support/database.ts';

const NEWER = '9999-from-the-future';

/** A server's preparation of a database that a newer release can migrate. */
async function usePreparation(mayMigrate: boolean) {
  const resources = new AsyncDisposableStack();
  const database = resources.use(await createServerDatabase());
  const { migrations, sequences } = resources.use(openPersistence({ databaseUrl: database.url }));
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  const execute = async (sql: string) => {
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  return {
    prepare: schemaPreparer({ migrations, sequences, mayMigrate, logger }),
    logged: () => lines.map((line) => JSON.parse(line)),
    migrateAsNewer: () => execute(`insert into schema_migrations (name) values ('${NEWER}')`),
    /** As the newer migration says if servers of this release may go on. */
    allowThisRelease: () =>
      execute(`insert into schema_releases (migration, oldest_release)
        select '${NEWER}', max(name) from schema_migrations where name < '9'`),
    async [Symbol.asyncDispose]() {
      await execute(
        `delete from schema_migrations where name > '9'; delete from schema_releases where migration > '9'`,
      );
      await resources.disposeAsync();
    },
  };
}

test.each([
  ['on', true],
  ['off', false],
])(
  'with MIGRATE=%s a server does not start on a newer schema, but goes on once it has started',
  async (_, mayMigrate) => {
    await using starting = await usePreparation(mayMigrate);
    await starting.migrateAsNewer();
    for (let attempt = 0; attempt < 2; attempt++) await expect(starting.prepare()).rejects.toThrow(NewerDatabaseError);
    expect(starting.logged()).toEqual([]);

    await using running = await usePreparation(mayMigrate);
    await running.prepare();
    await running.migrateAsNewer();
    await running.prepare();
    expect(running.logged()).toEqual([
      expect.objectContaining({
        level: 40,
        unknownMigrations: [NEWER],
        msg: 'the database was migrated by a newer version; this server keeps running until it is stopped',
      }),
    ]);
  },
);

test.each([
  ['on', true],
  ['off', false],
])('with MIGRATE=%s a server starts on a newer schema that says that it may', async (_, mayMigrate) => {
  await using starting = await usePreparation(mayMigrate);
  await starting.migrateAsNewer();
  await starting.allowThisRelease();
  await starting.prepare();
  expect(starting.logged()).toEqual([]);
});
