import type { Settings } from '@petstore/runtime';
import type { StartOptions } from '../compose.ts';
import { createLogger } from '../operations/logger.ts';
import { operationsOf } from '../operations/operations.ts';
import { noteRisks } from '../operations/start-notes.ts';
import type { RunningServer } from '../run-until-ended.ts';
import { ProcessGroup } from './process-group.ts';

/**
 * Starts a server of several processes, which share its port. This one serves no requests: it starts the others, replaces
 * those that end, answers for all of them on the admin port, and stops them in order.
 *
 * @throws RuntimeError: what a person can mend, in one line
 */
export async function startServer(
  settings: Settings,
  { onFatal }: Pick<StartOptions, 'onFatal'>,
): Promise<RunningServer> {
  await using resources = new AsyncDisposableStack();
  const logger = await createLogger({ level: settings.logLevel, format: settings.logFormat });
  noteRisks(settings, logger);
  const group = new ProcessGroup(settings, { logger, onFatal });
  const sources = { readiness: () => group.readiness(), metrics: () => group.metrics(), logger };
  group.start(await operationsOf(settings)(sources, resources));
  const running = resources.move();
  return {
    async close() {
      logger.info('stopping');
      await group.stop().finally(() => running.disposeAsync());
      logger.info('stopped');
    },
  };
}
