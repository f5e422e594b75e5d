import type { Server, ServerResponse } from 'node:http';
import { createServer } from '../http/node-http.ts';
import type { ReadinessReport } from './health.ts';

export interface AdminSources {
  readonly readiness: () => Promise<ReadinessReport>;
  /** In Prometheus' text format. */
  readonly metrics: () => Promise<string>;
  readonly onError: (error: unknown) => void;
}

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Makes the listener for those who run the service: no key, and not for the public. */
export function createAdminListener(sources: AdminSources): Server {
  return createServer({ requestTimeout: 10_000, keepAliveTimeout: 5_000 }, (request, response) => {
    request.resume();
    const { method, url = '' } = request;
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return send(response, json(405, { error: 'method not allowed' }));
    }
    answer(url.split('?', 1)[0] ?? '', sources).then(
      (result) => send(response, result),
      (error: unknown) => {
        sources.onError(error);
        send(response, json(500, { error: 'internal error' }));
      },
    );
  });
}

async function answer(path: string, { readiness, metrics }: AdminSources): Promise<Answer> {
  switch (path) {
    case '/livez':
      return json(200, { status: 'alive' });
    case '/readyz': {
      const report = await readiness();
      return json(report.status === 'ready' ? 200 : 503, report);
    }
    case '/metrics':
      return { status: 200, contentType: METRICS_TYPE, body: await metrics() };
    default:
      return json(404, { error: 'not found', paths: ['/livez', '/readyz', '/metrics'] });
  }
}

const json = (status: number, value: object): Answer => ({
  status,
  contentType: 'application/json',
  body: `${JSON.stringify(value)}\n`,
});

function send(response: ServerResponse, { status, contentType, body }: Answer): void {
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  });
  response.end(body); // Node leaves it out for HEAD
}
