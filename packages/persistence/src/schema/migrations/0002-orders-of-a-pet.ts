import { Migration } from '@mikro-orm/migrations';

/**
 * The orders of one pet, in the order of their ids. Neither column ever changes, so that cancelling and shipping leave
 * the index alone. Writing to orders waits while the index is built, a second or two for a million of them.
 */
export class OrdersOfAPet extends Migration {
  override up(): void {
    this.addSql('create index orders_pet_id_id_index on orders (pet_id, id)');
  }
}
