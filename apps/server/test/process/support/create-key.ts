import { randomBytes } from 'node:crypto';
import { generateApiKeyId, generateApiKeyText, hashApiKeyText, type Plan } from '@petstore/domain';
import { openPersistence } from '@petstore/persistence';

/** Makes an external key. */
export async function createKey(
  databaseUrl: string,
  plan: Plan = { name: 'free' },
): Promise<{ readonly id: string; readonly text: string }> {
  await using persistence = openPersistence({ databaseUrl });
  await persistence.migrations.migrate();
  const id = generateApiKeyId(randomBytes);
  const text = generateApiKeyText('test', id, randomBytes);
  const key = { id, name: 'test', kind: 'external', plan, createdAt: new Date() } as const;
  await persistence.keyAdministration.createKey(key, hashApiKeyText(text));
  return { id, text };
}
