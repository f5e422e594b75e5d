import fastify from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Settings } from '../settings.ts';
import type { Health } from './health.ts';
import { listenOn, logFailedAccepts, portOf, reachableHost, urlOf, WITHOUT_SCHEMAS } from './listen.ts';

export interface AdminListenerOptions {
  readonly health: Pick<Health, 'report'>;
  readonly registry: Registry;
  readonly logger: Logger;
}

/**
 * Serves health and metrics to operators, without a key, until the resources are disposed of.
 *
 * @returns its URL
 * @throws RuntimeError if the port is not available
 */
export async function openAdminListener(
  { adminHost: host, adminPort: port }: Pick<Settings, 'adminHost' | 'adminPort'>,
  { health, registry, logger }: AdminListenerOptions,
  resources: AsyncDisposableStack,
): Promise<string> {
  const app = fastify({
    requestTimeout: 10_000,
    keepAliveTimeout: 5_000,
    forceCloseConnections: true,
    schemaController: WITHOUT_SCHEMAS,
  });
  app.addHook('onRequest', async ({ method }, reply) => {
    reply.header('cache-control', 'no-store');
    if (method === 'GET' || method === 'HEAD') return undefined;
    return reply.code(405).header('allow', 'GET, HEAD').send({ error: 'method not allowed' });
  });
  app.get('/livez', () => ({ status: 'alive' }));
  app.get('/readyz', async (_request, reply) => {
    const report = await health.report();
    return reply.code(report.status === 'ready' ? 200 : 503).send(report);
  });
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ error: 'not found', paths: ['/livez', '/readyz', '/metrics'] }),
  );
  app.setErrorHandler((err, _request, reply) => {
    logger.error({ err }, 'the admin listener failed');
    return reply.code(500).send({ error: 'internal error' });
  });
  await listenOn(app, { host, port, setting: 'ADMIN_PORT' });
  resources.defer(() => app.close());
  logFailedAccepts(app.server, logger);
  const adminUrl = urlOf(reachableHost(host), portOf(app.server));
  logger.info({ url: `${adminUrl}/readyz`, host }, 'serving health and metrics');
  return adminUrl;
}
