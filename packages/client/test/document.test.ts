import { readFileSync } from 'node:fs';
import { expect, expectTypeOf, test } from 'vitest';
import { DOCUMENT_TYPES_FILE, generateDocumentTypes } from '../scripts/document-types.ts';
import type { Order, Pet, PetstoreRestClient } from '../src/rest.ts';

test('the types are those of the document', async () => {
  const committed = readFileSync(DOCUMENT_TYPES_FILE, 'utf8');
  expect(committed, 'The document has changed: run "pnpm --filter @petstore/client generate".').toBe(
    await generateDocumentTypes(),
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
