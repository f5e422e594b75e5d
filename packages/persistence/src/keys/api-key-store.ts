import type { ApiKeyStore } from '@petstore/domain';
import type { Database } from '../database/database.ts';
import { prepareStatement } from '../database/statement.ts';
import type { Row } from '../schema/rows.ts';
import { type KeyColumns, keyOfColumns } from './key-columns.ts';
import { createKeyMarks } from './key-marks.ts';

type SecretRow = KeyColumns & { readonly secretExpiresAt: Row<'api_key_secrets'>['expires_at'] };

const FIND_SECRET = prepareStatement<SecretRow>(
  'find-secret',
  `select k.id, k.name, k.kind, k.read_only as "readOnly", k.plan, k.per_minute as "perMinute", k.per_day as "perDay",
     k.created_at as "createdAt", k.expires_at as "expiresAt", k.revoked_at as "revokedAt",
     k.last_used_at as "lastUsedAt", s.expires_at as "secretExpiresAt"
   from api_key_secrets s join api_keys k on k.id = s.key_id
   where s.hash = $1`,
);

/** Key look-ups on PostgreSQL, below the ORM: see `openPersistence`. */
export function createApiKeyStore(database: Database): ApiKeyStore {
  const marks = createKeyMarks(database);
  return {
    async findSecret(secretHash) {
      const [row] = await database.run('keys', FIND_SECRET, [Buffer.from(secretHash)]);
      return row && { key: keyOfColumns(row), ...(row.secretExpiresAt && { secretExpiresAt: row.secretExpiresAt }) };
    },
    markKeyUsed: (id, at) => marks.load({ id, at }),
  };
}
