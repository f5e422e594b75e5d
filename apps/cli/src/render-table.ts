type Cell = string | number | boolean | null;

/** Renders rows as columns, under the names of their properties. */
export function renderTable(rows: readonly Readonly<Record<string, Cell>>[]): string {
  const names = Object.keys(rows[0] ?? {});
  const lines = [names, ...rows.map((row) => names.map((name) => textOf(row[name] ?? null)))];
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

// A name may hold anything; a terminal must not obey it.
const textOf = (cell: Cell): string => (cell === null ? '-' : String(cell).replace(/\p{Cc}/gu, '?'));
