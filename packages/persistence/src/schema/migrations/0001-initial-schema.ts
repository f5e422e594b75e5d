import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';

export class InitialSchema extends Migration {
  override up(): void {
    this.addSql(readFileSync(new URL('./0001-initial-schema.sql', import.meta.url), 'utf8'));
  }
}
