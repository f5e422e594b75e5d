import type { Constructor } from '@mikro-orm/core';
import { Migration } from '@mikro-orm/migrations';

/** A check of a table, and its expression from now on. */
interface ChangedCheck {
  readonly table: string;
  readonly name: string;
  readonly expression: string;
}

/**
 * The two migrations that change a check, or add one: rows are written by the new one after the first, and the second reads
 * those that are there. In a single one, nobody could use the table while it is read.
 *
 * The new expression has to accept what servers of the previous release write.
 */
export function changeCheck({ table, name, expression }: ChangedCheck): {
  readonly Change: Constructor<Migration & Pick<Migration, 'up'>>;
  readonly Validate: Constructor<Migration & Pick<Migration, 'up'>>;
} {
  class Change extends Migration {
    override up(): void {
      this.addSql(`alter table ${table} drop constraint if exists ${name}`);
      this.addSql(`alter table ${table} add constraint ${name} check (${expression}) not valid`);
    }
  }
  class Validate extends Migration {
    override up(): void {
      this.addSql(`alter table ${table} validate constraint ${name}`);
    }
  }
  return { Change, Validate };
}
