import { orderId, StorageUnavailableError } from '@petstore/domain';
import { createTestDatabase, startPgBouncer } from '@petstore/testing';
import { describe, expect, test } from 'vitest';
import { openPersistence } from '../src/index.ts';
import { ALL_FIELDS, allFieldsOf, collect, NOBODY, NOW, newOrder, numbered, pendingOrder } from './support.ts';

test('probe', async () => {
  await using database = await createTestDatabase();
  await using pooler = await startPgBouncer(database.url, { poolMode: 'session' });
  await using persistence = openPersistence({ databaseUrl: pooler.url });
  await persistence.migrations.migrate();
  console.log(await persistence.orders.insertOrder(newOrder({ shipDate: NOW })));
});
test('probe 2', async () => {
  await using database = await createTestDatabase();
  await using pooler = await startPgBouncer(database.url, { poolMode: 'transaction' });
  await using persistence = openPersistence({ databaseUrl: pooler.url });
  await persistence.migrations.migrate();
});
