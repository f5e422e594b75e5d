import type { IncomingMessage } from 'node:http';

const KEPT = /^[A-Za-z0-9_-]{1,64}$/;
/** The beginning of an API key: whoever sent one by mistake must not find it in our logs. */
const API_KEY_FORM = /pso_(?:live|test)_/;

/** The caller's own X-Request-Id where it is fit to be kept, else a new one. */
export function chooseRequestId({ headers }: IncomingMessage, newRequestId: () => string): string {
  const inbound = headers['x-request-id'];
  if (typeof inbound === 'string' && KEPT.test(inbound) && !API_KEY_FORM.test(inbound)) return inbound;
  return newRequestId();
}
