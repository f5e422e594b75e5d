import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import { openApiDocument } from '@petstore/api';
import { AnswerValidator } from './answer-validator.ts';
import { describeApi } from './described-api.ts';

/** Bodies beyond are too long to be kept; their heads are looked at all the same. */
const KEPT_BODY_MAX_BYTES = 262_144;

const VERSIONS = ['v1', 'v2'] as const;
const APIS = VERSIONS.map((version) =>
  describeApi(openApiDocument({ version, servers: [{ url: `http://x/${version}` }] })),
);
/** One for all servers, because it compiles the schemas. */
const validator = new AnswerValidator(APIS);

/**
 * Holds every answer that a server gives against the documents, whichever test asks for it. What the HTTP parser refuses
 * never comes by here; the conformance suite asks for that itself.
 *
 * @returns what was wrong so far; filled while the server runs
 */
export function watchAnswers(server: Server): readonly string[] {
  const wrong: string[] = [];
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '' } = request;
    const record = recordAnswer(response);
    response.once('finish', () => {
      const { status, headers, body } = record;
      const findings = validator.check({ method, url, status, headers, body: method === 'HEAD' ? '' : body() });
      wrong.push(...findings.map((finding) => `${method} ${url}: ${status}: ${finding}`));
    });
  });
  return wrong;
}

interface AnswerRecord {
  status: number;
  headers: Record<string, string>;
  /** None where it is too long. */
  body(): string | undefined;
}

/** Listens to what is written: all answers are, by these three. */
function recordAnswer(response: ServerResponse): AnswerRecord {
  const chunks: Buffer[] = [];
  let length = 0;
  const record: AnswerRecord = {
    status: 0,
    headers: {},
    body: () => (length > KEPT_BODY_MAX_BYTES ? undefined : Buffer.concat(chunks).toString()),
  };
  const keep = (chunk: unknown, encoding: unknown) => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return;
    length += chunk.length;
    if (length > KEPT_BODY_MAX_BYTES) chunks.length = 0;
    else if (typeof chunk !== 'string') chunks.push(Buffer.from(chunk));
    else chunks.push(Buffer.from(chunk, encoding as BufferEncoding)); // a callback in its place is taken as none
  };
  const { writeHead, write, end } = response;
  // Called as they were, whichever of their overloads that is.
  type Loose = (...args: unknown[]) => never;
  Object.assign(response, {
    writeHead(status: number, headers: OutgoingHttpHeaders) {
      record.status = status;
      for (const name in headers) if (headers[name] !== undefined) record.headers[name] = String(headers[name]);
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
