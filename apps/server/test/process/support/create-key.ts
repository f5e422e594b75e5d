import { randomBytes } from 'node:crypto';
import { generateApiKeyId, generateApiKeyText, hashApiKeyText } from '@petstore/domain';
import { openPersistence } from '@petstore/persistence';

/** Makes an external key on the free plan. */
export async function createKey(databaseUrl: string): Promise<{ readonly id: string; readonly text: string }> {
  await using persistence = openPersistence({ databaseUrl });
  await persistence.migrations.migrate();
  const id = generateApiKeyId(randomBytes);
  const text = generateApiKeyText('test', id, randomBytes);
  const key = { id, name: 'test', kind: 'external', plan: { name: 'free' }, createdAt: new Date() } as const;
  await persistence.keyAdministration.createKey(key, hashApiKeyText(text));
  return { id, text };
}
