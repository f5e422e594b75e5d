// Checked by the compiler alone: the types that the client publishes for tests name nothing of the shop, and say the same.
import type { ListedField, OrderValue, Plan } from '@petstore/domain';
import { expectTypeOf } from 'vitest';
import type { TestOrder, TestServiceOptions } from '../src/testing/test-service-types.ts';

type WithoutBrand<Value> = Value extends bigint ? bigint : Value;

type Listed = { readonly [Name in ListedField]: WithoutBrand<OrderValue<Name>> };

expectTypeOf<Required<TestOrder>>().toEqualTypeOf<Listed>();
expectTypeOf<Extract<Required<TestServiceOptions>['plan'], string>>().toEqualTypeOf<
  Exclude<Plan, { readonly limits: unknown }>['name']
>();
