import type { ApiKeyId, ApiKeyKind, ApiKeySecret, ApiKeyStore, PlanName } from '@petstore/domain';
import { prepareStatement, type QuerySender } from '../database/statement.ts';
import { parseTime } from '../time-text.ts';
import { keyOfColumns } from './key-columns.ts';
import { createKeyMarks } from './key-marks.ts';

type SecretRow = readonly [
  id: ApiKeyId,
  name: string,
  kind: ApiKeyKind,
  readOnly: 't' | 'f',
  plan: PlanName,
  perMinute: string | null,
  perDay: string | null,
  createdAt: string,
  expiresAt: string | null,
  revokedAt: string | null,
  lastUsedAt: string | null,
  secretExpiresAt: string | null,
];

const FIND_SECRET = prepareStatement<SecretRow>(
  'find-secret',
  `select k.id, k.name, k.kind, k.read_only, k.plan, k.per_minute, k.per_day, k.created_at,
     k.expires_at, k.revoked_at, k.last_used_at, s.expires_at
   from api_key_secrets s join api_keys k on k.id = s.key_id
   where s.hash = $1`,
);

/** Key look-ups on PostgreSQL, below the ORM: see `openPersistence`. */
export function createApiKeyStore(keys: QuerySender, writes: QuerySender): ApiKeyStore {
  const marks = createKeyMarks(writes);
  return {
    async findSecret(secretHash) {
      const [row] = await keys.run(FIND_SECRET, [Buffer.from(secretHash)]);
      return row && secretOfRow(row);
    },
    markKeyUsed: (id, at) => marks.load({ id, at }),
  };
}

function secretOfRow(row: SecretRow): ApiKeySecret {
  const [
    id,
    name,
    kind,
    readOnly,
    plan,
    perMinute,
    perDay,
    createdAt,
    expiresAt,
    revokedAt,
    lastUsedAt,
    secretExpiresAt,
  ] = row;
  const key = keyOfColumns({
    id,
    name,
    kind,
    readOnly: readOnly === 't',
    plan,
    perMinute: perMinute === null ? null : Number(perMinute),
    perDay: perDay === null ? null : Number(perDay),
    createdAt: parseTime(createdAt),
    expiresAt: expiresAt === null ? null : parseTime(expiresAt),
    revokedAt: revokedAt === null ? null : parseTime(revokedAt),
    lastUsedAt: lastUsedAt === null ? null : parseTime(lastUsedAt),
  });
  return { key, ...(secretExpiresAt !== null && { secretExpiresAt: parseTime(secretExpiresAt) }) };
}
