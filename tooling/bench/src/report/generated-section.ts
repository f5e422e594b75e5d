const BEGIN = '<!-- written by `pnpm bench --write`: begin -->';
const END = '<!-- written by `pnpm bench --write`: end -->';

/**
 * Replaces what stands between the marks of a Markdown text, and nothing else.
 *
 * @throws Error where the marks are not there, once each and in order
 */
export function replaceGeneratedSection(text: string, section: string): string {
  const [before, ...behindBegin] = text.split(BEGIN);
  const [, ...behindEnd] = behindBegin.join(BEGIN).split(END);
  if (behindBegin.length !== 1 || behindEnd.length !== 1) {
    throw new Error(`The text must hold these two lines, once each and in this order:\n${BEGIN}\n${END}`);
  }
  return `${before}${BEGIN}\n\n${section.trim()}\n\n${END}${behindEnd[0]}`;
}
