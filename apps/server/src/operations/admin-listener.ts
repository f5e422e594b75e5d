import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { createServer } from '../http/node-http.ts';
import type { ReadinessReport } from './health.ts';
import { listen, logFailedAccepts, reachableHost, urlOf } from './listen.ts';

export interface AdminListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly readiness: () => Promise<ReadinessReport>;
  /** In Prometheus' text format. */
  readonly metrics: () => Promise<string>;
  readonly logger: Logger;
}

interface AdminResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Serves health and metrics to operators, without a key, until the resources are disposed of.
 *
 * @returns its URL
 * @throws RuntimeError where the port cannot be had
 */
export async function openAdminListener(
  options: AdminListenerOptions,
  resources: AsyncDisposableStack,
): Promise<string> {
  const { host, logger } = options;
  const server = createServer({ requestTimeout: 10_000, keepAliveTimeout: 5_000 }, (request, response) => {
    request.resume();
    const { method, url = '' } = request;
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return send(response, json(405, { error: 'method not allowed' }));
    }
    respond(url.split('?', 1)[0] ?? '', options).then(
      (result) => send(response, result),
      (err: unknown) => {
        logger.error({ err }, 'the admin listener failed');
        send(response, json(500, { error: 'internal error' }));
      },
    );
  });
  const port = await listen(server, { host, port: options.port, setting: 'ADMIN_PORT' });
  logFailedAccepts(server, logger);
  resources.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  const adminUrl = urlOf(reachableHost(host), port);
  logger.info({ url: `${adminUrl}/readyz`, host }, 'health and metrics are served');
  return adminUrl;
}

async function respond(path: string, { readiness, metrics }: AdminListenerOptions): Promise<AdminResponse> {
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

const json = (status: number, value: object): AdminResponse => ({
  status,
  contentType: 'application/json',
  body: `${JSON.stringify(value)}\n`,
});

function send(response: ServerResponse, { status, contentType, body }: AdminResponse): void {
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  });
  response.end(body); // Node leaves it out for HEAD
}
