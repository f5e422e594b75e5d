import { isIPv6 } from 'node:net';
import { z } from 'zod';
import { parseDurationMs } from './duration.ts';

// Each of these schemas takes a text, the form of environment variables.

/** Parses by a function that returns `undefined` for a text that it does not understand. */
export const parsedBy = <Value>(parse: (text: string) => Value | undefined) =>
  z.string().transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom' });
    return z.NEVER;
  });

export const onOrOff = z.stringbool({ truthy: ['on'], falsy: ['off'], case: 'sensitive' });

/** A whole number, in decimal digits. */
export const integer = (min: number, max: number) =>
  z.string().regex(/^\d+$/).transform(Number).pipe(z.number().min(min).max(max));

export const port = integer(0, 65_535);

/** A duration such as `30s`, converted to milliseconds. */
export const duration = (minMs: number, maxMs: number) =>
  z.string().transform(parseDurationMs).pipe(z.number().min(minMs).max(maxMs));

export const dateOrDateTime = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })])
  .transform((text) => new Date(text));

/** A name need not exist: it is looked up when the server listens. */
export const host = z.string().refine((text) => {
  const isName = /^\w[\w-]*(\.\w[\w-]*)*\.?$/.test(text) && URL.canParse(`http://${text}`); // unlike 127.0.0.300
  return isName || isIPv6(text);
});

export const httpsUrl = z.url({ protocol: /^https$/, normalize: true });

/** A URL that ends in /v1 and has no credentials, query or fragment. */
export const baseUrl = z.url({ protocol: /^https?$/, normalize: true }).regex(/^[^@?#]*\/v1$/);

/** The form that RFC 9116 requires for the field Contact. */
export const contact = z.union([
  httpsUrl,
  z.url({ protocol: /^mailto$/, normalize: true }).regex(/^mailto:[^@\s]+@[^@\s]+$/),
]);

const listOf = <Item extends z.ZodType<string, string>>(item: Item) =>
  z
    .string()
    .transform((text) => text.split(',').flatMap((part) => part.trim() || []))
    .pipe(z.array(item));

export const origins = listOf(z.string().refine((text) => URL.parse(text)?.origin === text));

/** The proxies whose X-Forwarded-For is trusted: none, all, a number of the nearest ones, or those at these addresses. */
export const trustProxy = z.union([
  z.stringbool({ truthy: ['true'], falsy: ['off'], case: 'sensitive' }),
  integer(1, 32),
  listOf(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])),
]);
