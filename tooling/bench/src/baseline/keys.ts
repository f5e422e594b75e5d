import { hash } from 'node:crypto';
import { openPipelines } from './pipelined.ts';

interface Key {
  readonly id: string;
  readonly perMinute: number;
  readonly perDay: number;
}

interface Remembered {
  readonly untilMs: number;
  /** A promise of the key while it is looked up. */
  key: Key | undefined | Promise<Key | undefined>;
}

const REMEMBER_MS = 5_000;
const REMEMBERED_MAX = 10_000;

const FIND_KEY = {
  name: 'find-key',
  text: `select k.id, coalesce(k.per_minute, 0) as per_minute, coalesce(k.per_day, 0) as per_day
    from api_key_secrets s join api_keys k on k.id = s.key_id
    where s.hash = $1 and k.revoked_at is null
      and coalesce(s.expires_at, 'infinity') > now() and coalesce(k.expires_at, 'infinity') > now()`,
};

/** Keys by their header. Every result, found or not, is cached for 5 s. */
export function createKeys(databaseUrl: string) {
  const connection = openPipelines(databaseUrl, 1);
  const remembered = new Map<string, Remembered>();

  async function load(authorization: string): Promise<Key | undefined> {
    if (!authorization.startsWith('Bearer ')) return undefined;
    const client = await connection();
    const { rows } = await client.query(FIND_KEY, [hash('sha256', authorization.slice(7), 'buffer')]);
    const row = rows[0];
    return row && { id: row.id, perMinute: row.per_minute, perDay: row.per_day };
  }

  return {
    find(authorization: string): Remembered['key'] {
      const known = remembered.get(authorization);
      if (known !== undefined && known.untilMs > Date.now()) return known.key;
      const key = load(authorization);
      if (remembered.size >= REMEMBERED_MAX) remembered.clear();
      const entry: Remembered = { untilMs: Date.now() + REMEMBER_MS, key };
      remembered.set(authorization, entry);
      key.then(
        (value) => {
          entry.key = value;
        },
        () => remembered.delete(authorization),
      );
      return key;
    },
  };
}
