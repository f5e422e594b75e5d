import { PAGE_LIMIT_MAX } from '@petstore/domain';
import { z } from 'zod';
import { pageLimit, textOrNull } from './schemas.ts';

/** Longer than present cursors, to leave room for other layouts. */
const CURSOR_LENGTH_MAX = 64;
const CURSOR = /^[\w-]+$/;

/** The message for a text that is no cursor, and for a cursor of other parameters. */
export const cursorError = 'must be the `next` of a response of this operation with the same filters and order';

/** The parameters of a list that is read in pages. @param items what is listed, such as `orders` */
export const pageParameters = (items: string) => ({
  limit: pageLimit(`Maximum number of ${items} on the page.`),
  cursor: z
    .string()
    .max(CURSOR_LENGTH_MAX, cursorError)
    .regex(CURSOR, cursorError)
    .meta({ description: 'The `next` of the previous page. Valid only with the same filters and order.' })
    .optional(),
});

/** A page in a response. @param items its field, such as `orders` */
export const pageResponse = <Items extends string, Item extends z.ZodType>(items: Items, item: Item) =>
  z.object({
    [items]: z.array(item).max(PAGE_LIMIT_MAX),
    next: textOrNull(
      z.string().max(CURSOR_LENGTH_MAX).regex(CURSOR),
      'The value to send as `cursor` for the next page; null on the last page.',
    ),
  } as { readonly [Name in Items]: z.ZodArray<Item> } & { readonly next: z.ZodNullable<z.ZodString> }); // the compiler takes a computed name for any
