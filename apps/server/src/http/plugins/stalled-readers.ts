import type { FastifyReply } from 'fastify';
import fp from 'fastify-plugin';
import type { RequestMetrics } from '../app-options.ts';
import { logFieldsOf } from '../log-fields.ts';

export interface StalledReadersOptions {
  /** How long a client may take nothing, in milliseconds; by one step more at most. */
  readonly timeoutMs: number;
  readonly metrics: RequestMetrics;
}

/** In how many steps the time is counted. */
const STEPS = 8;

/**
 * Cuts responses whose reader takes nothing. The time is counted in steps, each of which is seen to pass: Node's own
 * timeouts would also count the time in which this process stood still, as on a machine that was suspended.
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
