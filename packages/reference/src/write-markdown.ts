/** A block of code. */
export const fence = (language: string, code: string): string => `\`\`\`${language}\n${code}\n\`\`\``;

/** A table. @param header empty texts for a table without a header */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const oneLine = (cell: string) => cell.replaceAll('|', '\\|').replaceAll(/\n+/g, '<br>');
  const lines = [header, header.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.map(oneLine).join(' | ')} |`).join('\n');
}
