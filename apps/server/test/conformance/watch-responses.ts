import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import { DOCUMENTED_VERSIONS, openApiDocument } from '@petstore/api';
import { describeApi, ResponseValidator } from './response-validator.ts';

/** Longer bodies are not kept; their headers are checked all the same. */
const KEPT_BODY_MAX_BYTES = 262_144;

/** The documents as they are generated. */
export const APIS = DOCUMENTED_VERSIONS.map(({ version }) =>
  describeApi(openApiDocument({ version, servers: [{ url: `http://x/${version}` }] })),
);
/** One for all servers, because it compiles the schemas. */
const validator = new ResponseValidator(APIS);

/**
 * Checks every response of a server against the documents, except for what the HTTP parser refuses, which the conformance
 * suite checks itself.
 *
 * @param keyMayEnd of {@link Exchanged}
 * @returns what was wrong so far; grows while the server runs
 */
export function watchResponses(server: Server, keyMayEnd: boolean): readonly string[] {
  const wrong: string[] = [];
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '' } = request;
    const record = recordResponse(response);
    response.once('finish', () => {
      const { status, headers, body } = record;
      const own = method === 'HEAD' ? '' : body();
      const findings = validator.check({ method, url, status, headers, body: own, keyMayEnd });
      wrong.push(...findings.map((finding) => `${method} ${url}: ${status}: ${finding}`));
    });
  });
  return wrong;
}

interface ResponseRecord {
  status: number;
  headers: Record<string, string>;
  /** @returns `undefined` where it was too long */
  body(): string | undefined;
}

/** Records what is written by the three methods that write responses. */
function recordResponse(response: ServerResponse): ResponseRecord {
  const chunks: Buffer[] = [];
  let length = 0;
  const record: ResponseRecord = {
    status: 0,
    headers: {},
    body: () => (length > KEPT_BODY_MAX_BYTES ? undefined : Buffer.concat(chunks).toString()),
  };
  const keep = (chunk: unknown, encoding: unknown) => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return;
    length += chunk.length;
    if (length > KEPT_BODY_MAX_BYTES) chunks.length = 0;
    else if (typeof chunk !== 'string') chunks.push(Buffer.from(chunk));
    else chunks.push(Buffer.from(chunk, encoding as BufferEncoding)); // or a callback, which counts as no encoding
  };
  const { writeHead, write, end } = response;
  // Called with the same arguments, whichever overload that is.
  type Loose = (...args: unknown[]) => never;
  Object.assign(response, {
    writeHead(status: number, headers?: OutgoingHttpHeaders) {
      record.status = status;
      // Of a body that is sent in pieces Fastify sets the headers one by one, before.
      for (const [name, value] of Object.entries({ ...response.getHeaders(), ...headers })) {
        if (value !== undefined) record.headers[name] = String(value);
      }
      return writeHead.call(response, status, headers);
    },
    write(...args: unknown[]) {
      keep(args[0], args[1]);
      return (write as Loose).apply(response, args);
    },
    end(...args: unknown[]) {
      keep(args[0], args[1]);
      return (end as Loose).apply(response, args);
    },
  });
  return record;
}
