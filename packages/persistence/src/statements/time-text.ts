/**
 * Writes a time as RFC 3339 in UTC with milliseconds and `Z`.
 *
 * @param text what PostgreSQL writes for a `timestamptz(3)` of the years 0001 to 9999 in the style ISO and the zone
 *   UTC: `2026-01-02 03:04:05+00`, with one to three decimals of the second where they are not zero
 */
export function toRfc3339(text: string): string {
  const seconds = `${text.slice(0, 10)}T${text.slice(11, 19)}`;
  switch (text.length) {
    case 22:
      return `${seconds}.000Z`;
    case 24:
      return `${seconds}${text.slice(19, 21)}00Z`;
    case 25:
      return `${seconds}${text.slice(19, 22)}0Z`;
    case 26:
      return `${seconds}${text.slice(19, 23)}Z`;
    default:
      throw new Error(`not a time as this schema stores it: ${text}`);
  }
}

export const parseTime = (text: string): Date => new Date(toRfc3339(text));
