import type { SuperJSONResult } from 'superjson';
import type { Connection } from '../connection.ts';
import { PetstoreError } from '../errors.ts';
import { connectionError } from '../transport/attempt.ts';
import { pause } from '../transport/clock.ts';
import { retryDelayMs } from '../transport/patient-fetch.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import type { PetstoreOutputs, TrpcErrorShape } from './router.ts';
import { transformer } from './transformer.ts';
import { errorOfShape } from './trpc-errors.ts';

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
/** It goes on for ever, and waits for as long as it is asked to. */
const FOR_EVER = { maxRetries: Number.POSITIVE_INFINITY, maxRetryAfterSeconds: Number.POSITIVE_INFINITY };

/**
 * Follows the changes of orders, in order and without a gap, over any number of connections. It goes on until its reader
 * leaves the loop.
 *
 * @throws PetstoreError `events_expired` if events behind the position have been deleted, `invalid_request` where there
 * is no such position, 401 and 403 where the key does not permit it; the signal's reason when it aborts
 */
export async function* followOrderEvents(
  connection: Connection,
  { after, onBegin, signal }: FollowEventsOptions = {},
): AsyncGenerator<OrderEvent, void, undefined> {
  const { options } = connection;
  let position = after;
  let begin = onBegin;
  /** Connections in a row that brought no event, and did not last until a ping: waits double with each. */
  let failures = 0;
  for (;;) {
    let response: ServiceResponse | undefined;
    let failure: unknown;
    try {
      response = await open(connection, position, signal);
      for await (const { name, data, id } of readMessages(response)) {
        if (name === 'serialized-error') throw errorOf(JSON.parse(data), response);
        // Those with a name are tRPC's own: `connected`, and `ping`, of which the first one comes at once, with the position.
        if (name === undefined || (name === 'ping' && id === undefined)) failures = 0;
        if (id !== undefined) position = id;
        if (name === undefined)
          yield transformer.deserialize(JSON.parse(data)) as OrderEvent; // as its type says
        else if (id !== undefined) {
          begin?.(id);
          begin = undefined;
        }
      }
      failure = connectionError(response); // a service that ends closes the connection: the next one goes to another
    } catch (error) {
      failure = error;
    } finally {
      response?.close();
    }
    signal?.throwIfAborted();
    const delayMs =
      failure instanceof PetstoreError ? retryDelayMs(failure, ++failures, { ...options, ...FOR_EVER }) : undefined;
    if (delayMs === undefined) throw failure;
    await pause(options.clock, delayMs, signal);
  }
}

async function open({ send, serviceUrl, options }: Connection, after: string | undefined, signal?: AbortSignal) {
  const input = JSON.stringify(transformer.serialize(after === undefined ? undefined : { after }));
  const response = await send({
    method: 'GET',
    url: `${serviceUrl}/trpc/orders.events?input=${encodeURIComponent(input)}`,
    headers: { accept: 'text/event-stream' },
    timeoutMs: Math.max(options.timeoutMs, SILENCE_MAX_MS),
    maxRetries: 0,
    signal,
    streams: true,
  });
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  response.close();
  try {
    throw errorOf(JSON.parse(response.text).error, response);
  } catch (error) {
    throw error instanceof PetstoreError ? error : response.toError(); // a proxy's page, for example
  }
}

/** @param data as the service writes an error */
function errorOf(data: SuperJSONResult, response: ServiceResponse): PetstoreError {
  return errorOfShape(transformer.deserialize(data) as TrpcErrorShape, response); // what the service formats
}

/**
 * Reads the messages of an event stream (HTML standard, section 9.2.6), each when its reader wants the next one. Without
 * `retry` and messages of several lines, which the service does not send.
 */
async function* readMessages(response: ServiceResponse) {
  let rest = '';
  for await (const text of response.readTexts()) {
    const messages = (rest + text).replaceAll('\r\n', '\n').split('\n\n');
    rest = messages.pop() ?? '';
    for (const message of messages) {
      const fields = Array.from(message.matchAll(/^(\w+): ?(.*)$/gm), ([, name, value]) => [name, value] as const);
      const { event: name, data, id }: Record<string, string | undefined> = Object.fromEntries(fields);
      if (data !== undefined) yield { name, data, id };
    }
  }
}
