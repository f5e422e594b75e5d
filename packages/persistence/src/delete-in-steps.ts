import type { PreparedStatement, QuerySender, StatementValue } from './database/statement.ts';

/** Deletes at most 1,000 rows, so that it is short, and returns how many. */
export type DeletionStep = PreparedStatement<readonly [deletedCount: string]>;

/**
 * Runs a step of a deletion until there is nothing more to delete.
 *
 * @returns how many rows were deleted
 * @throws the signal's reason
 */
export async function deleteInSteps(
  sender: QuerySender,
  step: DeletionStep,
  { values, signal }: { readonly values: readonly StatementValue[]; readonly signal: AbortSignal },
): Promise<number> {
  let total = 0;
  for (;;) {
    signal.throwIfAborted();
    const [row] = await sender.run(step, values);
    const count = Number(row?.[0] ?? 0);
    if (count === 0) return total;
    total += count;
  }
}
