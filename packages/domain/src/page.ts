/** The minimum and maximum number of items in a page. */
export const PAGE_LIMIT_MIN = 1;
export const PAGE_LIMIT_MAX = 1_000;
/** The default number of items in a page. */
export const PAGE_LIMIT_DEFAULT = 100;

/** The part of a list, sorted by ids, that a page has. */
export interface PageRequest<Id extends bigint> {
  /** Only items that follow the one with this id. @default from the beginning */
  readonly afterId?: Id;
  /** The maximum number of items, {@link PAGE_LIMIT_MIN} to {@link PAGE_LIMIT_MAX}. */
  readonly limit: number;
}

/** A part of a list. Ids never change, so consecutive pages hold no item twice. */
export interface Page<Item extends { readonly id: bigint }> {
  readonly items: readonly Item[];
  /** The id after which the next page begins; left out on the last page. */
  readonly nextAfterId?: Item['id'];
}

/** Makes a page of what was found: its items, and at least one more if there is another page. */
export function pageOf<Item extends { readonly id: bigint }>(found: readonly Item[], limit: number): Page<Item> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return last === undefined || found.length <= limit ? { items } : { items, nextAfterId: last.id };
}
