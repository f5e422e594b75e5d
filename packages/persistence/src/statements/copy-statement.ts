/**
 * The statement that sends a batch of orders by COPY.
 *
 * @param columns as the select list names them
 * @param afterId digits of an int64, from the database itself
 * @param limit how many orders at most
 */
export const copyStatement = (
  columns: string,
  afterId: string,
  limit: number,
  { isBinary = false }: { readonly isBinary?: boolean } = {},
): string =>
  // COPY takes no parameters. The quotes keep -2^63 a bigint: without them it is the negation of a numeric.
  `copy (select ${columns} from orders where id > '${afterId}'::bigint order by id limit ${limit}) to stdout` +
  (isBinary ? ' (format binary)' : '');
