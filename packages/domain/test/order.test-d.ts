// Checked by the compiler alone: what the tables of fields and states come to.
import { expectTypeOf } from 'vitest';
import type {
  CommandReason,
  Order,
  OrderEventType,
  OrderId,
  OrderRecord,
  OrderRequest,
  OrderStatus,
  OrderText,
  PetId,
  UnknownStatus,
} from '../src/index.ts';

interface Facts {
  readonly id: OrderId;
  readonly petId: PetId;
  readonly quantity: number;
  readonly shipDate?: Date;
  readonly placedAt: Date;
}

type Written =
  | (Facts & { readonly status: 'pending'; readonly complete: false })
  | (Facts & { readonly status: 'shipped'; readonly complete: false; readonly shippedAt: Date })
  | (Facts & {
      readonly status: 'shipped';
      readonly complete: true;
      readonly shippedAt: Date;
      readonly completedAt: Date;
    })
  | (Facts & { readonly status: 'cancelled'; readonly complete: false; readonly cancelledAt: Date });

type Flat<T> = T extends unknown ? { [Key in keyof T]: T[Key] } : never;

expectTypeOf<Flat<Order>>().toEqualTypeOf<Flat<Written>>();
expectTypeOf<OrderStatus>().toEqualTypeOf<'pending' | 'shipped' | 'cancelled'>();
expectTypeOf<Flat<OrderRequest>>().toEqualTypeOf<{
  readonly petId: PetId;
  readonly quantity: number;
  readonly shipDate?: Date;
}>();
expectTypeOf<Flat<OrderRecord>>().toEqualTypeOf<{
  readonly id: OrderId;
  readonly petId: PetId;
  readonly quantity: number;
  readonly shipDate?: Date;
  readonly complete: boolean;
  readonly status?: OrderStatus;
}>();
expectTypeOf<OrderText>().toEqualTypeOf<{
  readonly id: string;
  readonly petId: string;
  readonly quantity: string;
  readonly shipDate: string | undefined;
  readonly complete: boolean;
  readonly status: OrderStatus | UnknownStatus;
}>();
expectTypeOf<CommandReason>().toEqualTypeOf<
  | 'order_not_found'
  | 'order_not_shipped'
  | 'order_already_shipped'
  | 'order_already_completed'
  | 'order_already_cancelled'
>();
expectTypeOf<OrderEventType>().toEqualTypeOf<
  'order.placed' | 'order.imported' | 'order.shipped' | 'order.completed' | 'order.cancelled'
>();
