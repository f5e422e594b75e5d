/** A block of code. */
export const fence = (language: string, code: string): string => `\`\`\`${language}\n${code}\n\`\`\``;

/** A table. @param header of empty texts, where it is to have none */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const oneLine = (cell: string) => cell.replaceAll('|', '\\|').replaceAll(/\n+/g, '<br>');
  const lines = [header, header.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.map(oneLine).join(' | ')} |`).join('\n');
}
