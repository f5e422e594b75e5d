import { type FieldDefinition, isValueOf } from '@petstore/domain';
import { anyValueOf } from '@petstore/testing/any-order';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { INPUT_KINDS, OUTPUT_KINDS } from '../src/procedures/orders/order-kinds.ts';

// No order has a text yet: this tries what would be made of one.

const text = { kind: 'text', minLength: 1, maxLength: 20, setBy: 'caller' } as const satisfies FieldDefinition;
const input = INPUT_KINDS.text(text);
const output = OUTPUT_KINDS.text(text, 'A note');

test('an input takes the texts that a field may have, and no others', () => {
  fc.assert(
    fc.property(fc.oneof(anyValueOf(text), fc.string({ unit: 'binary', maxLength: 25 })), (value) => {
      expect(input.safeParse(value).success).toBe(isValueOf(text, value));
    }),
  );
  for (const wrong of ['', 'a\0', '\ud800', 'a'.repeat(21)]) expect(input.safeParse(wrong).success).toBe(false);
  expect(input.safeParse('').error?.issues[0]?.message).toBe('must be a text of 1 to 20 characters, without NUL');
});

test('a response shows a text as it is, described with its lengths and as what has no NUL', () => {
  const { pattern = '', ...schema } = z.toJSONSchema(output);
  expect(schema).toMatchObject({ type: 'string', minLength: 1, maxLength: 20, description: 'A note.' });
  const described = new RegExp(pattern, 'u');
  expect(described.test('a\0')).toBe(false);
  fc.assert(
    fc.property(anyValueOf(text), (value) => {
      expect(output.parse(value)).toBe(value);
      expect(described.test(String(value))).toBe(true);
    }),
  );
});
