import { PAGE_LIMIT_MAX, type Page, type PageRequest } from '@petstore/domain';
import { z } from 'zod';
import { ApiError } from '../api-error.ts';
import { decodeCursor, encodeCursor } from './page-cursor.ts';
import { inputObject, limitError, pageLimit, textOrNull } from './schemas.ts';

/** Longer than present cursors, to leave room for other layouts. */
const CURSOR_LENGTH_MAX = 64;
const CURSOR = /^[\w-]+$/;

/** The message for a text that is no cursor, and for a cursor of other parameters. */
const cursorError = 'must be the `next` of a response of this operation with the same filters and order';

/** A list that is read in pages, sorted by ids. */
interface PageFacts<Items extends string, Item extends z.ZodType, Filters, Id extends bigint> {
  /** The field of a response that holds the items, such as `orders`. */
  readonly items: Items;
  readonly item: Item;
  /** The parameters that select and sort the items. */
  readonly input: Filters;
  /** Makes the id after which a page begins. */
  readonly after: (id: bigint) => Id;
}

/** What a caller sends besides filters. */
interface PageInput {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

type PageResult<Items extends string, Found> = { readonly [Name in Items]: readonly Found[] } & {
  /** The cursor of the next page; null on the last page. */
  readonly next: string | null;
};

/**
 * Makes what the operations of lists in pages have in common: their input, the body of their responses, and how they read a
 * page.
 */
export function pageContract<
  Items extends string,
  Item extends z.ZodType,
  Filters extends z.core.$ZodLooseShape,
  Id extends bigint,
>({ items, item, input, after }: PageFacts<Items, Item, Filters, Id>) {
  const response = z.object({
    [items]: z.array(item).max(PAGE_LIMIT_MAX),
    next: textOrNull(
      z.string().max(CURSOR_LENGTH_MAX).regex(CURSOR),
      'The value to send as `cursor` for the next page; null on the last page.',
    ),
  } as { readonly [Name in Items]: z.ZodArray<Item> } & { readonly next: z.ZodNullable<z.ZodString> }); // the compiler takes a computed name for any
  return {
    input: inputObject({
      ...input,
      limit: pageLimit(`Maximum number of ${items} on the page.`),
      cursor: z
        .string()
        .max(CURSOR_LENGTH_MAX, cursorError)
        .regex(CURSOR, cursorError)
        .meta({ description: 'The `next` of the previous page. Valid only with the same filters and order.' })
        .optional(),
    }),
    rest: {
      response: response.meta({
        id: `${items.charAt(0).toUpperCase()}${items.slice(1)}Page`,
        description: `One page of ${items}.`,
      }),
      invalidRequest: `limit: ${limitError}.`,
    },
    /**
     * Reads the page that an input asks for.
     *
     * @param find reads a part of the list that the filters select
     * @throws ApiError `invalid_request` for a cursor that is none, or of other filters
     */
    async read<Input extends PageInput, Found extends { readonly id: Id }>(
      { cursor, limit, ...filters }: Input,
      find: (filters: Omit<Input, keyof PageInput>, part: PageRequest<Id>) => Promise<Page<Found>>,
    ): Promise<PageResult<Items, Found>> {
      const list = [items, filters];
      const afterId = cursor === undefined ? undefined : decodeCursor(cursor, list);
      if (cursor !== undefined && afterId === undefined) {
        throw new ApiError('invalid_request', `cursor: ${cursorError}.`);
      }
      const page = await find(filters, { limit, ...(afterId !== undefined && { afterId: after(afterId) }) });
      const next = page.nextAfterId === undefined ? null : encodeCursor(page.nextAfterId, list);
      return { [items]: page.items, next } as PageResult<Items, Found>; // as above
    },
  };
}
