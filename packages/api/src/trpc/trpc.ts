import { initTRPC } from '@trpc/server';
import type { Context } from '../context.ts';
import { requirePermission } from '../permission.ts';
import type { ProcedureContract } from '../procedure-contract.ts';
import { formatTrpcError } from './format-error.ts';
import { assertWellFormed, transformer } from './transformer.ts';

const t = initTRPC.context<Context>().meta<ProcedureContract>().create({
  transformer,
  errorFormatter: formatTrpcError,
  // Stacks are never sent, whatever NODE_ENV says.
  isDev: false,
});

export const { router, createCallerFactory } = t;

/**
 * A procedure for those whom its contract admits. HTTP requests are authenticated before. A malformed input fails its own
 * call only; a procedure without an input does not read what was sent as one.
 */
export const procedure = t.procedure.use(async ({ ctx, meta: contract, getRawInput, next }) => {
  if (contract === undefined) throw new Error('A procedure has no contract.');
  requirePermission(ctx.principal, contract);
  if (contract.input !== undefined) assertWellFormed(await getRawInput());
  return next();
});
