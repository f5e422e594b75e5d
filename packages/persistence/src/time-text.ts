/** The length of a time without decimals, and of one with three decimals. */
const TIME_MIN_LENGTH = '2026-01-02 03:04:05+00'.length;
const TIME_MAX_LENGTH = '2026-01-02 03:04:05.678+00'.length;

/**
 * Rewrites a `timestamptz(3)` of the years 0001 to 9999 as PostgreSQL writes it in the style ISO and the zone UTC, with up
 * to three decimals: `2026-01-02 03:04:05.6+00` becomes `2026-01-02T03:04:05.600Z`.
 *
 * @throws Error if the session has another zone or style, or the column another type: times are never guessed
 */
export function toRfc3339(text: string): string {
  const { length } = text;
  const hasDecimals = text[19] === '.';
  const isTime = text[10] === ' ' && text.endsWith('+00') && (hasDecimals || length === TIME_MIN_LENGTH);
  if (!isTime || length > TIME_MAX_LENGTH) throw new Error(`not a time as this schema stores it: ${text}`);
  // Most times have all three decimals, and only need to be joined.
  if (length === TIME_MAX_LENGTH) return `${text.slice(0, 10)}T${text.slice(11, 23)}Z`;
  const decimals = hasDecimals ? text.slice(20, -3) : '';
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${decimals.padEnd(3, '0')}Z`;
}
