// Checked by the compiler alone: what callers import must say what they get.
import type { CommandReason, Order, OrderId, Pet, PetId, StoredOrder } from '@petstore/domain';
import type { inferRouterError, inferRouterInputs, inferRouterOutputs } from '@trpc/server';
import { expectTypeOf } from 'vitest';
import type { z } from 'zod';
import {
  type AppRouter,
  type Context,
  defineOperation,
  type ErrorCode,
  type JsonPiece,
  type ProcedureContract,
} from '../src/index.ts';

type Inputs = inferRouterInputs<AppRouter>;
type Outputs = inferRouterOutputs<AppRouter>;

// Ids come as plain bigints and go as branded ones.
expectTypeOf<Inputs['orders']['list']>().toEqualTypeOf<void>();
expectTypeOf<Inputs['orders']['cancel']>().toEqualTypeOf<{ orderId: bigint }>();
expectTypeOf<Inputs['orders']['ship']>().toEqualTypeOf<{ orderId: bigint }>();
expectTypeOf<Inputs['orders']['complete']>().toEqualTypeOf<{ orderId: bigint }>();
expectTypeOf<Inputs['orders']['place']>().toEqualTypeOf<{
  petId: bigint;
  quantity: number;
  shipDate?: Date | undefined;
  idempotencyKey?: string | undefined;
}>();
expectTypeOf<Inputs['pets']['get']>().toEqualTypeOf<{ petId: bigint }>();
expectTypeOf<OrderId>().toExtend<bigint>();
expectTypeOf<PetId>().not.toExtend<OrderId>();

// A list is a stream of batches, and promises nothing else.
expectTypeOf<Outputs['orders']['list']>().toEqualTypeOf<AsyncIterable<readonly StoredOrder[]>>();
expectTypeOf<Outputs['orders']['list']>().not.toHaveProperty('jsonChunks');

// An order says by its status which times it has.
expectTypeOf<Outputs['orders']['cancel']>().toEqualTypeOf<void>();
for (const output of ['place', 'ship', 'complete'] as const) {
  expectTypeOf<Outputs['orders'][typeof output]>().toEqualTypeOf<Order>();
}
expectTypeOf<Extract<Order, { status: 'cancelled' }>['cancelledAt']>().toEqualTypeOf<Date>();
expectTypeOf<Outputs['pets']['get']>().toEqualTypeOf<Pet>();

// Every error carries one of our codes, and every refusal of the domain is one of them.
expectTypeOf<inferRouterError<AppRouter>['data']['errorCode']>().toEqualTypeOf<ErrorCode>();
expectTypeOf<CommandReason>().toExtend<ErrorCode>();

// Every context has a principal.
expectTypeOf<{ services: Context['services']; requestId: string }>().not.toExtend<Context>();

// A documented operation has an id and versions, and what is made from a body needs one.
type Operation = Extract<ProcedureContract, { openapi: object }>;
// A mutation says how it is repeated.
expectTypeOf<{ type: 'query' }>().toExtend<ProcedureContract>();
expectTypeOf<{ type: 'mutation' }>().not.toExtend<ProcedureContract>();

expectTypeOf<{ type: 'query'; openapi: { method: 'GET'; path: '/x' } }>().not.toExtend<ProcedureContract>();
expectTypeOf<Omit<Operation, 'versions'>>().not.toExtend<ProcedureContract>();
expectTypeOf<{ errors: []; stream: () => AsyncIterable<JsonPiece> }>().not.toExtend<Operation['rest']>();
expectTypeOf<{ errors: []; response: z.ZodString; stream: () => AsyncIterable<JsonPiece> }>().not.toExtend<
  Operation['rest']
>();
expectTypeOf<{ errors: []; response: z.ZodString }>().toExtend<Operation['rest']>();
expectTypeOf<{ errors: [] }>().toExtend<Operation['rest']>();

// A response holds what the operation returns.
const described = { method: 'GET', path: '/x', operationId: 'x' } as const;
const operationWith = <Response extends z.ZodType>(response: Response) =>
  ({ type: 'query', versions: { v2: 'beta' }, openapi: described, rest: { errors: [], response } }) as const;
declare const fits: z.ZodObject<{ id: z.ZodBigInt }>;
declare const wantsMore: z.ZodObject<{ id: z.ZodBigInt; name: z.ZodString }>;
defineOperation(operationWith(fits), async () => ({ id: 1n }));
// @ts-expect-error there is no name
defineOperation(operationWith(wantsMore), async () => ({ id: 1n }));
