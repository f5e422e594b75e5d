import { type CommandReason, type Order, type OrderCommand, orderId, petId } from '@petstore/domain';
import { type Batch, SimulatedOrders, type SimulatedService } from './simulated-orders.ts';

const isOrder = (result: Order | CommandReason): result is Order => typeof result !== 'string';

const facts = ({ id, petId, quantity, placedAt }: Order) => ({ id, petId, quantity, placedAt });
const asPending = (order: Order): Order => ({ ...facts(order), status: 'pending', complete: false });
const asCancelled = (order: Order, cancelledAt: Date): Order => ({
  ...facts(order),
  status: 'cancelled',
  complete: false,
  cancelledAt,
});
const asShipped = (order: Order, shippedAt: Date): Order => ({
  ...facts(order),
  status: 'shipped',
  complete: false,
  shippedAt,
});

/** A service that loses or repeats what it does, or decides by what is no longer so. */
const OF_COMMANDS: Readonly<Record<string, SimulatedService>> = {
  'an acknowledged command is not stored': class extends SimulatedOrders {
    override command(id: bigint, command: OrderCommand) {
      const before = this.orders.get(id);
      const result = super.command(id, command);
      if (isOrder(result) && before !== undefined && this.strikes()) this.orders.set(id, before);
      return result;
    }
  },
  'a command is acknowledged before it takes effect': class extends SimulatedOrders {
    override command(id: bigint, command: OrderCommand) {
      const before = this.orders.get(id);
      const result = super.command(id, command);
      if (isOrder(result) && before !== undefined) {
        this.orders.set(id, before);
        this.world.later(15, () => this.orders.set(id, result));
      }
      return result;
    }
  },
  'two cancels one soon after the other both succeed': class extends SimulatedOrders {
    override command(id: bigint, command: OrderCommand) {
      const order = this.orders.get(id);
      const isRecent = order?.status === 'cancelled' && this.now.getTime() - order.cancelledAt.getTime() < 100;
      return isRecent && command === 'cancel' ? order : super.command(id, command);
    }
  },
  'a cancelled order is shipped': class extends SimulatedOrders {
    override command(id: bigint, command: OrderCommand) {
      const order = this.orders.get(id);
      if (command !== 'ship' || order?.status !== 'cancelled' || !this.strikes()) return super.command(id, command);
      const shipped = asShipped(order, this.now);
      this.orders.set(id, shipped);
      return shipped;
    }
  },
  'an order is completed without being shipped': class extends SimulatedOrders {
    override command(id: bigint, command: OrderCommand) {
      if (command === 'complete' && this.strikes()) super.command(id, 'ship');
      return super.command(id, command);
    }
  },
  'a refusal has the reason of another state': class extends SimulatedOrders {
    override command(id: bigint, command: OrderCommand) {
      const result = super.command(id, command);
      return result === 'order_already_cancelled' ? 'order_already_shipped' : result;
    }
  },
  'a command that was done is refused, because the service itself sent it again': class extends SimulatedOrders {
    override command(id: bigint, command: OrderCommand) {
      const result = super.command(id, command);
      return isOrder(result) && this.strikes() ? super.command(id, command) : result;
    }
  },
  'a refused cancel is carried out all the same': class extends SimulatedOrders {
    override command(id: bigint, command: OrderCommand) {
      const result = super.command(id, command);
      const order = this.orders.get(id);
      if (result === 'order_already_shipped' && order !== undefined && this.strikes()) {
        this.orders.set(id, asCancelled(order, this.now));
      }
      return result;
    }
  },
  'a refused cancel moves the time of the first': class extends SimulatedOrders {
    override command(id: bigint, command: OrderCommand) {
      const result = super.command(id, command);
      const order = this.orders.get(id);
      if (result === 'order_already_cancelled' && order !== undefined)
        this.orders.set(id, asCancelled(order, this.now));
      return result;
    }
  },
  'a server whose clock is a little behind completes': class extends SimulatedOrders {
    override command(id: bigint, command: OrderCommand) {
      const result = super.command(id, command);
      if (!isOrder(result) || result.status !== 'shipped' || !result.complete) return result;
      const early: Order = { ...result, completedAt: new Date(result.shippedAt.getTime() - 5) };
      this.orders.set(id, early);
      return early;
    }
  },
  'a server whose clock is behind ships': class extends SimulatedOrders {
    override command(id: bigint, command: OrderCommand) {
      const result = super.command(id, command);
      if (command !== 'ship' || !isOrder(result) || !this.strikes()) return result;
      const early = asShipped(result, new Date(result.placedAt.getTime() - 5_000));
      this.orders.set(id, early);
      return early;
    }
  },
};

const OF_READS: Readonly<Record<string, SimulatedService>> = {
  'a get reads from a replica that is behind': class extends SimulatedOrders {
    readonly #before = new Map<bigint, Order | undefined>();
    override command(id: bigint, command: OrderCommand) {
      const before = this.orders.get(id);
      const result = super.command(id, command);
      if (isOrder(result)) this.#before.set(id, before);
      return result;
    }
    override get(id: bigint) {
      return this.strikes() ? (this.#before.get(id) ?? super.get(id)) : super.get(id);
    }
  },
  'a get does not find an order': class extends SimulatedOrders {
    override get(id: bigint) {
      return this.strikes() ? undefined : super.get(id);
    }
  },
  'a get has the response of another caller': class extends SimulatedOrders {
    override get(id: bigint) {
      return super.get(this.strikes() ? id + 1n : id);
    }
  },
};

const OF_PLACING: Readonly<Record<string, SimulatedService>> = {
  'an id is used again after a failover': class extends SimulatedOrders {
    override place(pet: bigint, quantity: number) {
      if (this.nextId > 1n && this.strikes()) this.nextId--;
      return super.place(pet, quantity);
    }
  },
  'a call places two orders, because the service itself sent it again': class extends SimulatedOrders {
    override place(pet: bigint, quantity: number) {
      if (this.strikes()) super.place(pet, quantity);
      return super.place(pet, quantity);
    }
  },
  'an order has the quantity of another': class extends SimulatedOrders {
    override place(pet: bigint, quantity: number) {
      return super.place(pet, this.strikes() ? quantity + 1 : quantity);
    }
  },
};

const OF_LISTS: Readonly<Record<string, SimulatedService>> = {
  'a list skips the order behind the seam of two batches': class extends SimulatedOrders {
    override batch(afterId: bigint) {
      return super.batch(afterId === 0n ? afterId : afterId + 1n);
    }
  },
  'a list holds the order at the seam of two batches twice': class extends SimulatedOrders {
    override batch(afterId: bigint) {
      return super.batch(afterId === 0n ? afterId : afterId - 1n);
    }
  },
  'a list shares a batch that was read before it began': class extends SimulatedOrders {
    #shared: Batch | undefined;
    override batch(afterId: bigint): Batch {
      if (afterId !== 0n) return super.batch(afterId);
      if (this.#shared === undefined || this.strikes()) this.#shared = super.batch(afterId);
      return this.#shared;
    }
  },
  'a list holds an order that was never placed': class extends SimulatedOrders {
    override batch(afterId: bigint): Batch {
      const { orders, nextAfterId } = super.batch(afterId);
      const [last] = orders.slice(-1);
      if (nextAfterId !== undefined || last === undefined || !this.strikes()) return { orders, nextAfterId };
      const invented = { ...asPending(last), id: orderId(last.id + 1_000n), petId: petId(-1n) };
      return { orders: [...orders, invented], nextAfterId };
    }
  },
};

/** Services with one fault each, by what goes wrong. */
export const PLANTED_FAULTS: Readonly<Record<string, SimulatedService>> = {
  ...OF_COMMANDS,
  ...OF_READS,
  ...OF_PLACING,
  ...OF_LISTS,
};
