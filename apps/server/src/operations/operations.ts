import type { Settings } from '@petstore/runtime';
import type { Logger } from 'pino';
import { type BannerFacts, listeningLine, renderBanner } from '../banner.ts';
import { demoKeysFile } from '../embedded/demo-keys.ts';
import { type AdminSources, createAdminListener } from './admin-listener.ts';
import { listen, reachableHost, urlOf } from './listen.ts';

/** What there is to tell once requests are answered. */
export type ServingFacts = Omit<BannerFacts, 'adminUrl'>;

/** Tells those who run the server that it serves, and where. */
export type Announce = (facts: ServingFacts) => void;

export interface OperationsSources extends Pick<AdminSources, 'readiness' | 'metrics'> {
  readonly logger: Logger;
}

/** Answers from now on those who run the server. What that takes is ended with the resources. */
export type OpenOperations = (sources: OperationsSources, resources: AsyncDisposableStack) => Promise<Announce>;

/** Answers on the admin port, and tells on standard output. */
export function operationsOf(settings: Settings): OpenOperations {
  const { adminHost: host, adminPort } = settings;
  return async ({ readiness, metrics, logger }, resources) => {
    const onError = (err: unknown) => logger.error({ err }, 'the admin listener failed');
    const server = createAdminListener({ readiness, metrics, onError });
    const port = await listen(server, { host, port: adminPort, setting: 'ADMIN_PORT' });
    resources.defer(() => {
      server.close();
      server.closeAllConnections();
    });
    const adminUrl = urlOf(reachableHost(host), port);
    logger.info({ url: `${adminUrl}/readyz`, host }, 'health and metrics are served');
    return (facts) => announce(settings, { ...facts, adminUrl }, logger);
  };
}

function announce({ logFormat, databaseUrl, dataFolder }: Settings, facts: BannerFacts, logger: Logger): void {
  // Where others keep the database, others read the log: it stays JSON, and holds no banner.
  if (logFormat === 'pretty' || databaseUrl === undefined) {
    const isTerminal = process.stdout.isTTY === true;
    process.stdout.write(renderBanner(facts, { isTerminal, demoKeysFile: demoKeysFile(dataFolder) }));
    return;
  }
  const { demoKeys: _, listenUrl, ...rest } = facts;
  // Whatever the level: who started us waits for this line, and learns the port from it.
  logger.child({}, { level: 'info' }).info(rest, listeningLine(listenUrl));
}
