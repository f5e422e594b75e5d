import type { Operation } from './history.ts';

/** How a call is written beside its line. */
export interface OperationText {
  /** Who called what. */
  readonly call: string;
  /** What came of it; `undefined` where nothing is to be said. */
  readonly outcome: string;
}

/**
 * Draws calls as lines in time, one below the other: `|--|` from the call to the response, `|---?` where the response was
 * lost. Calls and responses are spaced evenly, so that one sees which calls were under way at the same time; the numbers
 * are milliseconds from the first call.
 */
export function drawHistory<Call, Outcome>(
  operations: readonly Operation<Call, Outcome>[],
  describe: (operation: Operation<Call, Outcome>) => OperationText,
): string {
  const moments = operations.flatMap(({ calledAtMs, response }) => [calledAtMs, response?.atMs ?? calledAtMs]);
  const times = [...new Set(moments)].sort((a, b) => a - b);
  const columnOf = (atMs: number) => 2 * times.indexOf(atMs);
  const begin = times[0] ?? 0;
  const width = 2 * times.length + 1;
  const rows = operations.map((operation) => {
    const { calledAtMs, response } = operation;
    const from = columnOf(calledAtMs);
    const to = response === undefined ? width - 1 : Math.max(columnOf(response.atMs), from + 1);
    const line = `${' '.repeat(from)}|${'-'.repeat(to - from - 1)}${response === undefined ? '?' : '|'}`;
    const at = `${(calledAtMs - begin).toFixed(1)}..${response === undefined ? '' : (response.atMs - begin).toFixed(1)}`;
    return { at, line, ...describe(operation) };
  });
  const widest = (of: (row: (typeof rows)[number]) => string) => Math.max(0, ...rows.map((row) => of(row).length));
  const [calls, lines, ats] = [widest(({ call }) => call), widest(({ line }) => line), widest(({ at }) => at)];
  return rows
    .map(
      ({ at, call, line, outcome }) => `${at.padStart(ats)}  ${call.padEnd(calls)}  ${line.padEnd(lines)}  ${outcome}`,
    )
    .join('\n');
}
