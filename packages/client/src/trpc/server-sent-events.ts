import type { ServiceResponse } from '../transport/service-response.ts';

/** A message of an event stream, as far as the service sends any. */
export interface ServerSentEvent {
  /** `undefined` for plain messages. */
  readonly name: string | undefined;
  readonly data: string;
  readonly id: string | undefined;
}

/**
 * Reads the messages of an event stream (HTML standard, section 9.2.6), each when its reader wants the next one. Without
 * `retry` and messages of several lines, which the service does not send.
 *
 * @throws ConnectionError where the stream breaks off
 */
export async function* readServerSentEvents(response: ServiceResponse): AsyncGenerator<ServerSentEvent, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for (let chunk = await response.readChunk(); chunk !== undefined; chunk = await response.readChunk()) {
    const messages = (rest + decoder.decode(chunk, { stream: true })).replaceAll('\r\n', '\n').split('\n\n');
    rest = messages.pop() ?? '';
    for (const message of messages) {
      const fields = fieldsOf(message);
      const data = fields.get('data');
      if (data !== undefined) yield { name: fields.get('event'), data, id: fields.get('id') };
    }
  }
}

const fieldsOf = (message: string): ReadonlyMap<string, string> =>
  new Map(
    message
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).replace(/^ /, '')] as const),
  );
