import type { ApiKeyId } from '@petstore/domain';
import { prepareStatement, type QuerySender } from '../database/statement.ts';

/**
 * However many processes see a key used, it is written once a minute. A key that is locked is left out: another process
 * marks it, or an administrator changes it, and the next mark is a minute away.
 */
const MARK_USED = prepareStatement<readonly []>(
  'mark-keys-used',
  `with free as (
     select id, mark.at from unnest($1::text[], $2::timestamptz[]) mark (id, at) join api_keys using (id)
     where last_used_at is null or last_used_at <= mark.at - interval '1 minute'
     for no key update of api_keys skip locked
   )
   update api_keys set last_used_at = free.at from free where api_keys.id = free.id`,
);

/**
 * Writes when keys were used. Marks that are made while others are under way share the next statement, so that a lock of
 * the whole table keeps one connection waiting, and not those of commands.
 */
export class KeyMarks {
  readonly #sender: QuerySender;
  #waiting = new Map<ApiKeyId, Date>();
  #underWay: Promise<unknown> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(sender: QuerySender) {
    this.#sender = sender;
  }

  /** Resolves when the mark is written, or need not be. */
  mark(id: ApiKeyId, at: Date): Promise<void> {
    this.#waiting.set(id, at);
    this.#next ??= this.#underWay.then(() => this.#write());
    return this.#next;
  }

  async #write(): Promise<void> {
    const marks = [...this.#waiting];
    this.#waiting = new Map();
    this.#next = undefined;
    const ids = `{${marks.map(([id]) => id).join()}}`;
    const times = `{${marks.map(([, at]) => at.toISOString()).join()}}`;
    const written = this.#sender.run(MARK_USED, [ids, times]);
    this.#underWay = written.catch(() => {}); // reported to those who made these marks
    await written;
  }
}
