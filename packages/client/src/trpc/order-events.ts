import type { Connection } from '../connection.ts';
import { PetstoreError } from '../errors.ts';
import { connectionError } from '../transport/attempt.ts';
import { pause } from '../transport/clock.ts';
import { FOR_EVER, retryDelayMs } from '../transport/retries.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import { mediaTypeOf } from './media-type.ts';
import type { PetstoreOutputs, TrpcErrorShape } from './router.ts';
import { transformer } from './transformer.ts';
import { errorOfShape } from './trpc-errors.ts';

/** A change of an order, and the order after it. */
export type OrderEvent =
  PetstoreOutputs['orders']['events'] extends AsyncIterable<{ readonly data: infer Event }> ? Event : never;

export interface FollowEventsOptions {
  /** The `id` of the event after which to begin; `'0'` is the beginning of the kept events. @default from now on */
  readonly after?: string | undefined;
  /** Called once, before the first event, with the position at which it begins: later events are never missed. */
  readonly onBegin?: ((position: string) => void) | undefined;
  /** Ends the iteration, which throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The service sends something at least every 15 s: after a longer silence, the connection is lost. */
const SILENCE_MAX_MS = 45_000;

/**
 * Follows the changes of orders, in order and without gaps, over any number of connections. It continues until its reader
 * leaves the loop.
 *
 * @throws PetstoreError `events_expired` if events after the position have been deleted, `invalid_request` if there is no
 * such position, 401 and 403 if the key does not permit it; the signal's reason if it aborts
 */
export async function* followOrderEvents(
  connection: Connection,
  { after, onBegin, signal }: FollowEventsOptions = {},
): AsyncGenerator<OrderEvent, void, undefined> {
  const { clock, random } = connection;
  let position = after;
  let begin = onBegin;
  /** Consecutive connections without an event or a ping: the wait doubles with each. */
  let failures = 0;
  for (;;) {
    let response: ServiceResponse | undefined;
    let failure: unknown;
    try {
      response = await open(connection, position, signal);
      for await (const { name, data, id } of readMessages(response)) {
        if (name === 'serialized-error') throw errorOf(data, response);
        // Named messages are tRPC's own: `connected`, and `ping`. The first `ping` comes at once, with the position.
        if (name === undefined || (name === 'ping' && id === undefined)) failures = 0;
        if (id !== undefined) position = id;
        if (name === undefined) yield eventOf(data, response);
        else if (id !== undefined) {
          begin?.(id);
          begin = undefined;
        }
      }
      failure = connectionError(response); // a service that stops closes the connection; the next connection reaches another one
    } catch (error) {
      failure = error;
    } finally {
      response?.close();
    }
    signal?.throwIfAborted();
    const delayMs =
      failure instanceof PetstoreError ? retryDelayMs(failure, ++failures, FOR_EVER, random()) : undefined;
    if (delayMs === undefined) throw failure;
    await pause(clock, delayMs, signal);
  }
}

async function open({ send, options }: Connection, after: string | undefined, signal?: AbortSignal) {
  const input = JSON.stringify(transformer.serialize(after === undefined ? undefined : { after }));
  const response = await send({
    method: 'GET',
    url: `${options.serviceUrl}/trpc/orders.events?input=${encodeURIComponent(input)}`,
    headers: { accept: 'text/event-stream' },
    timeoutMs: Math.max(options.timeoutMs, SILENCE_MAX_MS),
    signal,
    streams: true,
  });
  if (mediaTypeOf(response.headers) === 'text/event-stream') return response;
  response.close();
  throw errorOf(response.text, response);
}

/** @throws PetstoreError if something in between has changed the text */
function eventOf(text: string, response: ServiceResponse): OrderEvent {
  try {
    return transformer.deserialize(JSON.parse(text)) as OrderEvent; // by its type
  } catch (cause) {
    throw response.createError('The response has an event that is not the JSON that it should be.', undefined, cause);
  }
}

/** @param text of a response, or of a message; without the service's format, it is that of a proxy, for example */
function errorOf(text: string, response: ServiceResponse): PetstoreError {
  try {
    const json = JSON.parse(text);
    return errorOfShape(transformer.deserialize(json.error ?? json) as TrpcErrorShape, response);
  } catch {
    return response.toError();
  }
}

/**
 * Reads the messages of an event stream (HTML standard, section 9.2.6), each when its reader asks for it. It does not
 * support `retry` and data of several lines, which the service does not send.
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
