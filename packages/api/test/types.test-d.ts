// Checked by the compiler alone: what callers import must say what they get.
import type { CommandReason, Order, OrderId, Pet, PetId } from '@petstore/domain';
import type { inferRouterError, inferRouterInputs, inferRouterOutputs } from '@trpc/server';
import { expectTypeOf } from 'vitest';
import type { z } from 'zod';
import type { AppRouter, Context, ErrorCode, ProcedureContract } from '../src/index.ts';

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
expectTypeOf<Outputs['orders']['list']>().toEqualTypeOf<AsyncIterable<readonly Order[]>>();
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

// A documented operation has an id, versions, and either a body with what writes it, or neither.
type Operation = Extract<ProcedureContract, { openapi: object }>;
expectTypeOf<{ type: 'query'; openapi: { method: 'GET'; path: '/x' } }>().not.toExtend<ProcedureContract>();
expectTypeOf<Omit<Operation, 'versions'>>().not.toExtend<ProcedureContract>();
expectTypeOf<{ errors: []; response: z.ZodString }>().not.toExtend<Operation['rest']>();
expectTypeOf<{ errors: [] }>().toExtend<Operation['rest']>();
