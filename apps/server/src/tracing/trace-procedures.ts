import type { AppRouter, RestRoute } from '@petstore/api';
import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server';
import { internal, type Spans } from './spans.ts';

/** A span of each call of a procedure over tRPC, in a batch of each of them. */
export function traceRouter(router: AppRouter, spans: Spans): AppRouter {
  const { _def }: AnyTRPCRouter = router;
  const procedures: Record<string, AnyTRPCProcedure> = _def.procedures;
  const traced = Object.fromEntries(
    Object.entries(procedures).map(([name, procedure]) => [name, traceProcedure(name, procedure, spans)]),
  );
  // The same procedures under the same names.
  return { ...router, _def: { ..._def, procedures: traced } } as unknown as AppRouter;
}

function traceProcedure(name: string, procedure: AnyTRPCProcedure, spans: Spans): AnyTRPCProcedure {
  const facts = internal(name, { 'code.function.name': name, 'rpc.system.name': 'trpc', 'rpc.method': name });
  const call = procedure as unknown as (options: unknown) => Promise<unknown>; // which tRPC hides from types
  const traced = (options: unknown) => spans.measure(facts, () => call(options));
  return Object.assign(traced, procedure) as unknown as AnyTRPCProcedure; // with all that tRPC keeps on it
}

/** A span of each call of a procedure over REST. */
export const traceRoutes = (routes: readonly RestRoute[], spans: Spans): readonly RestRoute[] =>
  routes.map((route) => {
    const { procedure } = route;
    const facts = internal(procedure, { 'code.function.name': procedure });
    return {
      ...route,
      call: (params, context, query) => spans.measure(facts, () => route.call(params, context, query)),
    };
  });
