import { isInternal } from '@petstore/domain';
import { initTRPC } from '@trpc/server';
import { ApiError } from '../api-error.ts';
import type { Context } from '../context.ts';
import type { ProcedureContract } from '../procedure-contract.ts';
import { formatTrpcError } from './format-error.ts';
import { transformer } from './transformer.ts';

/** How often a subscription on which nothing happens says that it is there, in milliseconds. */
const PING_INTERVAL_MS = 15_000;

const t = initTRPC
  .context<Context>()
  .meta<ProcedureContract>()
  .create({
    transformer,
    errorFormatter: formatTrpcError,
    sse: {
      // Often enough for proxies that close a connection on which nothing comes for a minute.
      ping: { enabled: true, intervalMs: PING_INTERVAL_MS },
      client: { reconnectAfterInactivityMs: 3 * PING_INTERVAL_MS },
    },
    // No stack ever leaves, whatever NODE_ENV says.
    isDev: false,
  });

export const { router, createCallerFactory } = t;

/** For every caller: HTTP requests have been authenticated. */
export const procedure = t.procedure;

/** For internal keys and callers in the same process. */
export const internalProcedure = t.procedure.use(({ ctx, next }) => {
  if (!isInternal(ctx.principal)) throw new ApiError('insufficient_scope');
  return next();
});
