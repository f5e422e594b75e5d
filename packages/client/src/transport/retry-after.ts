/**
 * Reads how long an answer asks to wait (RFC 9110 section 10.2.3): whole seconds, or the date to wait for.
 *
 * A date is compared with the answer's own `Date`, so that a client whose clock is wrong waits as long as was meant.
 *
 * @param nowMs the client's time, for an answer without a `Date`
 * @returns whole seconds, rounded up; `undefined` where the header is missing or says neither
 */
export function readRetryAfterSeconds(headers: Headers, nowMs: number): number | undefined {
  const text = headers.get('retry-after')?.trim();
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  // Every form of an HTTP date begins with the name of a day; `Date.parse` takes much that is none.
  const untilMs = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(untilMs)) return undefined;
  const sentMs = Date.parse(headers.get('date') ?? '');
  return Math.max(0, Math.ceil((untilMs - (Number.isNaN(sentMs) ? nowMs : sentMs)) / 1000));
}
