/** @typedef {(key: string, value: unknown, context: { source: string }) => unknown} ExactReviver */

/**
 * JSON with line breaks, and each number as it was sent: ids have more digits than a number of JavaScript. A browser that
 * cannot do that gets the text as it is.
 *
 * @param {string} text
 */
export function formatJson(text) {
  try {
    /** @type {ExactReviver} */
    const keepDigits = (_, value, { source }) =>
      typeof value === 'number' ? /** @type {any} */ (JSON).rawJSON(source) : value;
    // TypeScript's libraries know neither the third parameter nor rawJSON yet.
    return JSON.stringify(JSON.parse(text, /** @type {any} */ (keepDigits)), undefined, 2);
  } catch {
    return text;
  }
}
