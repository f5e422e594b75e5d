import { readFileSync } from 'node:fs';
import { expect, expectTypeOf, test } from 'vitest';
import {
  DOCUMENT_TYPES,
  ERROR_CODES_FILE,
  generateDocumentTypes,
  generateErrorCodes,
} from '../scripts/document-types.ts';
import type { Order, OrderEventV2, OrderFilter, OrderV2, Pet, PetstoreRestClient } from '../src/rest.ts';

test.each(DOCUMENT_TYPES)('the types of $file are those of the document', async (types) => {
  const committed = readFileSync(types.file, 'utf8');
  expect(committed, 'The document has changed: run "pnpm --filter @petstore/client generate".').toBe(
    await generateDocumentTypes(types),
  );
});

test('the codes of errors are those of the catalogue', () => {
  const committed = readFileSync(ERROR_CODES_FILE, 'utf8');
  expect(committed, 'The catalogue has changed: run "pnpm --filter @petstore/client generate".').toBe(
    generateErrorCodes(),
  );
});

test('what callers see is typed: ids are bigint, and no field of an order is promised', () => {
  expectTypeOf<Order>().toEqualTypeOf<{
    id?: bigint;
    petId?: bigint;
    quantity?: number;
    shipDate?: string;
    complete?: boolean;
  }>();
  expectTypeOf<Pet>().toEqualTypeOf<{ id: bigint; name: string }>();
  expectTypeOf<Parameters<PetstoreRestClient['cancelOrder']>[0]>().toEqualTypeOf<{ orderId: bigint }>();
});

test('v2 promises the fields of an event, whose position is a text', () => {
  expectTypeOf<OrderEventV2>().toEqualTypeOf<{
    id: string;
    type: 'order.placed' | 'order.imported' | 'order.shipped' | 'order.completed' | 'order.cancelled';
    orderId: bigint;
    at: string;
    order: OrderV2;
  }>();
});

test('v2 promises the fields of an order, and takes its filters by their types', () => {
  expectTypeOf<OrderV2>().toEqualTypeOf<{
    id: bigint;
    petId: bigint;
    quantity: number;
    shipDate?: string;
    complete: boolean;
    status: 'pending' | 'shipped' | 'cancelled';
  }>();
  expectTypeOf<OrderFilter>().toEqualTypeOf<{
    status?: ('pending' | 'shipped' | 'cancelled')[];
    petId?: bigint;
    complete?: boolean;
    shipDateFrom?: string;
    shipDateTo?: string;
    limit?: number;
  }>();
});
