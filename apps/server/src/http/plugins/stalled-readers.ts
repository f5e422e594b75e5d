import type { FastifyReply } from 'fastify';
import fp from 'fastify-plugin';
import type { RequestMetrics } from '../app-options.ts';
import { logFieldsOf } from '../log-fields.ts';

export interface StalledReadersOptions {
  /** How long a client may read nothing, in milliseconds, plus at most one step. */
  readonly timeoutMs: number;
  readonly metrics: RequestMetrics;
}

/** The number of steps in which the time is counted. */
const STEPS = 8;

/**
 * Cuts responses whose client reads nothing. The time is counted in steps: Node's own timeouts would include the time
 * during which this process did not run, as on a machine that was suspended.
 */
export const stalledReaders = fp<StalledReadersOptions>(
  async (app, { timeoutMs, metrics }) => {
    const stalled = new WeakMap<FastifyReply, { readonly takenBytes: number; readonly steps: number }>();

    function check(reply: FastifyReply): void {
      const { socket } = reply.raw;
      if (socket === null || socket.writableLength === 0) return void stalled.delete(reply);
      const takenBytes = socket.bytesWritten - socket.writableLength;
      const before = stalled.get(reply);
      const steps = before?.takenBytes === takenBytes ? before.steps + 1 : 0;
      stalled.set(reply, { takenBytes, steps });
      if (steps < STEPS) return;
      reply.log.info(logFieldsOf(reply.request), 'a response was cut: its reader was too slow');
      metrics.countCut('slow_reader');
      reply.raw.destroy();
    }

    const timer = setInterval(() => app.inFlight.forEach(check), timeoutMs / STEPS).unref();
    app.addHook('onClose', async () => clearInterval(timer));
  },
  { name: 'stalled-readers', dependencies: ['in-flight', 'subject'] },
);
