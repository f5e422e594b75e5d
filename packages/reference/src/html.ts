const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes a text for use in elements and double-quoted attributes. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);

/** Short names, options and times with hyphens, at which browsers break lines: `Retry-After`. */
const BREAKABLE = /^(?=.*-)[\w:+ -]{3,32}$/;

/** Code within a sentence. */
export const renderCode = (text: string): string =>
  `<code${BREAKABLE.test(text) ? ' class="whole"' : ''}>${escapeHtml(text)}</code>`;
