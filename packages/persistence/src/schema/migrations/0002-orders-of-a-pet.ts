import { ConcurrentSchemaChange } from '../schema-change.ts';

/**
 * The orders of one pet, in the order of their ids. Neither column ever changes, so that cancelling and shipping leave
 * the index alone.
 */
export class OrdersOfAPet extends ConcurrentSchemaChange {
  override readonly oldestRelease = '0001-initial-schema';

  override up(): void {
    this.addSql('drop index concurrently if exists orders_pet_id_id_index');
    this.addSql('create index concurrently orders_pet_id_id_index on orders (pet_id, id)');
  }
}
