import { initTRPC } from '@trpc/server';
import type { Context } from '../context.ts';
import type { ProcedureContract } from '../procedure-contract.ts';
import { formatTrpcError } from './format-error.ts';
import { requireChangesAllowed, requireInternal } from './permission.ts';
import { transformer } from './transformer.ts';

/** How often an idle subscription sends a sign of life, in milliseconds. */
const PING_INTERVAL_MS = 15_000;

const t = initTRPC
  .context<Context>()
  .meta<ProcedureContract>()
  .create({
    transformer,
    errorFormatter: formatTrpcError,
    sse: {
      // Often enough for proxies that close a connection after a minute without data.
      ping: { enabled: true, intervalMs: PING_INTERVAL_MS },
      client: { reconnectAfterInactivityMs: 3 * PING_INTERVAL_MS },
    },
    // Stacks are never sent, whatever NODE_ENV says.
    isDev: false,
  });

export const { router, createCallerFactory } = t;

/** For every caller, but for read-only keys if it is a mutation. HTTP requests are authenticated before. */
export const procedure = t.procedure.use(({ ctx, type, next }) => {
  requireChangesAllowed(ctx.principal, type);
  return next();
});

/** For internal keys and callers in the same process. */
export const internalProcedure = procedure.use(({ ctx, next }) => {
  requireInternal(ctx.principal);
  return next();
});
