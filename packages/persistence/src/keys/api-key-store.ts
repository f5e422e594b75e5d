import type { ApiKeyStore } from '@petstore/domain';
import type { Expression } from 'kysely';
import type { Database } from '../database/database.ts';
import { query } from '../schema/query.ts';
import { keyOfColumns } from './key-columns.ts';
import { createKeyMarks } from './key-marks.ts';

const FIND_SECRET = query('find-secret', (from, { hash }: { hash: Expression<Buffer> }) =>
  from
    .selectFrom('api_key_secrets')
    .innerJoin('api_keys', 'api_keys.id', 'key_id')
    .where('hash', '=', hash)
    .select([
      'api_keys.id',
      'name',
      'kind',
      'read_only as readOnly',
      'plan',
      'per_minute as perMinute',
      'per_day as perDay',
      'api_keys.created_at as createdAt',
      'api_keys.expires_at as expiresAt',
      'revoked_at as revokedAt',
      'last_used_at as lastUsedAt',
      'api_key_secrets.expires_at as secretExpiresAt',
    ]),
);

/** Look-ups of keys, and when they were used. */
export function createApiKeyStore(database: Database): ApiKeyStore {
  const marks = createKeyMarks(database);
  return {
    async findSecret(secretHash) {
      const [row] = await FIND_SECRET(database, 'requests', { hash: Buffer.from(secretHash) });
      return row && { key: keyOfColumns(row), ...(row.secretExpiresAt && { secretExpiresAt: row.secretExpiresAt }) };
    },
    markKeyUsed: (id, at) => marks.load({ id, at }),
  };
}
