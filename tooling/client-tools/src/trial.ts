import type { Call } from './call.ts';
import type { OrderState, Orders, Service } from './service.ts';

/** What became of the order that a caller meant to cancel, whose id is beyond 2^53. */
export type IdsOutcome =
  | { readonly type: 'exact' }
  /** Its neighbour is cancelled in its place: the id was rounded on the way. */
  | { readonly type: 'another-order' }
  /** Nothing is cancelled. */
  | { readonly type: 'refused'; readonly reason: string };

/** What calls by a tool gave. */
export type Trial =
  | { readonly type: 'failed'; readonly reason: string }
  | {
      readonly type: 'worked';
      readonly ids: IdsOutcome;
      /** Whether the caller sees X-RateLimit-Remaining. */
      readonly seesLimits: boolean;
    };

/** Looks at what the calls did to the orders, as the service has them. */
export async function judgeCalls(service: Pick<Service, 'stateOf'>, orders: Orders, call: Call): Promise<Trial> {
  if ('failed' in call) return { type: 'failed', reason: call.failed };
  const { small, again, large, remaining } = call;
  const state = await service.stateOf(orders.small);
  if (small.status !== 204 || state !== 'cancelled') {
    return { type: 'failed', reason: `cancelling gave ${small.status}, and the order is ${state}` };
  }
  if (again.status !== 409 || again.code !== 'order_already_cancelled') {
    return { type: 'failed', reason: `cancelling twice gave ${again.status} ${again.code}` };
  }
  const ids = judgeIds({
    large: await service.stateOf(orders.large),
    neighbour: await service.stateOf(orders.neighbour),
    reason: `${large.status ?? 'not sent'} ${large.code ?? ''}`.trim(),
  });
  return { type: 'worked', ids, seesLimits: /^\d+$/.test(remaining ?? '') };
}

interface Evidence {
  readonly large: OrderState;
  readonly neighbour: OrderState;
  readonly reason: string;
}

function judgeIds({ large, neighbour, reason }: Evidence): IdsOutcome {
  if (neighbour === 'cancelled') return { type: 'another-order' };
  return large === 'cancelled' ? { type: 'exact' } : { type: 'refused', reason };
}
