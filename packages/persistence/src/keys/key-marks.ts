import type { ApiKeyId } from '@petstore/domain';
import DataLoader from 'dataloader';
import type { Database } from '../database/database.ts';
import { prepareStatement } from '../database/statement.ts';

/**
 * Writes each key's use once a minute, however many processes see it. A locked key is skipped: another process marks it, or
 * an administrator changes it, and its next use is marked again.
 */
const MARK_USED = prepareStatement<never>(
  'mark-keys-used',
  `with free as (
     select id, mark.at from unnest($1::text[], $2::timestamptz[]) mark (id, at) join api_keys using (id)
     where last_used_at is null or last_used_at <= mark.at - interval '1 minute'
     for no key update of api_keys skip locked
   )
   update api_keys set last_used_at = free.at from free where api_keys.id = free.id`,
);

/** When a key was used. */
interface Mark {
  readonly id: ApiKeyId;
  readonly at: Date;
}

/**
 * Records when keys were used. Marks made while a statement is in progress share the next one: a lock of the whole table
 * then blocks a single connection of those for writes, and leaves the others to commands.
 */
export function createKeyMarks(database: Database): DataLoader<Mark, undefined> {
  let underWay: Promise<unknown> = Promise.resolve();
  const write = async (marks: readonly Mark[]): Promise<undefined[]> => {
    const values = [marks.map(({ id }) => id), marks.map(({ at }) => at.toISOString())];
    const written = database.run('writes', MARK_USED, values);
    underWay = written.catch(() => {}); // reported to those who made these marks
    await written;
    return marks.map(() => undefined);
  };
  return new DataLoader(write, { cache: false, batchScheduleFn: (send) => void underWay.then(send) });
}
