import type { PetstoreError } from '../errors.ts';
import type { Connection } from '../options.ts';
import { createResponseError } from '../response-error.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import type { PetstoreOutputs, TrpcErrorShape } from './router.ts';
import { readServerSentEvents, type ServerSentEvent } from './server-sent-events.ts';
import { transformer } from './transformer.ts';

/** A change of an order, and the order as it was after it. */
export type OrderEvent =
  PetstoreOutputs['orders']['events'] extends AsyncIterable<{ readonly data: infer Event }> ? Event : never;

export interface FollowEventsOptions {
  /** The `id` of the event behind which to begin; `'0'`: the beginning of what is kept. @default from now on */
  readonly after?: string | undefined;
  /** Called once, before the first event, with the position at which it begins: from then on nothing is missed. */
  readonly onBegin?: ((position: string) => void) | undefined;
  /** Ends it: the iteration throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The service sends something at least every 15 s, so this says that the connection is gone. */
const SILENCE_MAX_MS = 45_000;

/**
 * Follows the changes of orders, in order and without a gap, over any number of connections. It goes on until its reader
 * leaves the loop.
 *
 * @throws PetstoreError `events_expired` where events behind the position have been deleted, `invalid_request` where there
 * is no such position, 401 and 403 where the key does not permit it; the signal's reason when it aborts
 */
export async function* followOrderEvents(
  connection: Connection,
  { after, onBegin, signal }: FollowEventsOptions = {},
): AsyncGenerator<OrderEvent, void, undefined> {
  let position = after;
  let begin = onBegin;
  for (let failures = 0; ; ) {
    let response: ServiceResponse | undefined;
    let failure: unknown;
    try {
      response = await open(connection, position, signal);
      for await (const message of readServerSentEvents(response)) {
        const event = readMessage(message, response);
        if (message.id !== undefined) {
          position = message.id;
          failures = 0;
        }
        if (event !== undefined) yield event;
        else if (message.id !== undefined) {
          begin?.(message.id);
          begin = undefined;
        }
      }
    } catch (error) {
      failure = error;
    } finally {
      response?.close();
    }
    // A service that ends closes the connection: the next one goes to another.
    if (!(await connection.retries.backOff(failure, ++failures, signal))) throw failure;
  }
}

async function open({ sender, serviceUrl, timeoutMs }: Connection, after: string | undefined, signal?: AbortSignal) {
  const input = JSON.stringify(transformer.serialize(after === undefined ? undefined : { after }));
  const response = await sender.send({
    method: 'GET',
    url: `${serviceUrl}/trpc/orders.events?input=${encodeURIComponent(input)}`,
    headers: { accept: 'text/event-stream' },
    timeoutMs: Math.max(timeoutMs, SILENCE_MAX_MS),
    signal,
  });
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  if (response.ok) throw response.createError();
  throw await readTrpcError(response);
}

async function readTrpcError(response: ServiceResponse): Promise<PetstoreError> {
  const text = await response.readText();
  try {
    const { error } = JSON.parse(text);
    return errorOf(error, response);
  } catch {
    return response.createError(); // a proxy's page, for example
  }
}

/** @returns the event, if it is one */
function readMessage({ name, data }: ServerSentEvent, response: ServiceResponse): OrderEvent | undefined {
  if (name === 'serialized-error') throw errorOf(JSON.parse(data), response);
  // What else has a name is tRPC's own: connected, and ping, of which the first one has the position as its id.
  return name === undefined ? (transformer.deserialize(JSON.parse(data)) as OrderEvent) : undefined; // as its type says
}

function errorOf(
  encoded: Parameters<typeof transformer.deserialize>[0],
  { requestId, retryAfterSeconds }: ServiceResponse,
): PetstoreError {
  const { message, data } = transformer.deserialize(encoded) as TrpcErrorShape; // what the service formats
  return createResponseError(message, { code: data.errorCode, status: data.httpStatus, requestId, retryAfterSeconds });
}
