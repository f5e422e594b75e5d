import { type AnyTRPCProcedure, initTRPC, TRPCError } from '@trpc/server';
import type { OpenApiMeta } from 'trpc-to-openapi';
import { z } from 'zod';
import type { Context } from '../context.ts';
import type { DocumentedContract } from '../procedure-contract.ts';
import { inputFromTexts } from './parameters.ts';
import type { RestReply } from './rest-route.ts';

/** What a procedure is given over REST. */
export interface RestContext {
  /** What the operation is given. */
  readonly context: Context;
  readonly reply: RestReply;
}

const t = initTRPC.context<RestContext>().meta<OpenApiMeta<DocumentedContract>>().create({ isDev: false });

export const restRouter = t.router;

/**
 * Makes the procedure by which an operation is served and documented over REST. It is not the one over tRPC: it takes texts,
 * and its output is the body of the response. Whoever calls it has asked for the permission, before reading any text.
 *
 * @param resolve is called with the operation's own input
 */
export function createRestProcedure(
  contract: DocumentedContract,
  resolve: (call: { readonly ctx: Context; readonly input: unknown }) => Promise<unknown>,
): AnyTRPCProcedure {
  const { type, openapi, rest, deprecation } = contract;
  const fromTexts = inputFromTexts(contract);
  const body = rest.response ?? z.void();
  const respond = async ({ ctx, input }: { readonly ctx: RestContext; readonly input: unknown }) => {
    const { context, reply } = ctx;
    const output = await resolve({ ctx: context, input });
    if (rest.stream !== undefined) {
      reply.pieces = rest.stream(output as never); // the operation's own output
      return []; // the handler sends a result whole, so a list goes past it
    }
    return output;
  };
  const builder = t.procedure
    .meta({ ...contract, openapi: { ...openapi, deprecated: deprecation !== undefined, errorResponses: [] } })
    .input(fromTexts)
    .output(body)
    .experimental_caller(async ({ args }) => {
      const [{ ctx, getRawInput }] = args as [CallByTrpc];
      const { data: input, error } = fromTexts.safeParse(await getRawInput());
      if (error !== undefined) throw new TRPCError({ code: 'BAD_REQUEST', cause: error });
      return body.parse(await respond({ ctx, input }));
    });
  const procedure: unknown = type === 'mutation' ? builder.mutation(respond) : builder.query(respond);
  return procedure as AnyTRPCProcedure; // its type says how it would be called without tRPC
}

/**
 * What tRPC calls a procedure with. Our caller does with it what tRPC's own does for one input, one output and no other
 * middleware. That one copies all of this five times by a helper for old browsers, which took as long as the rest of a call.
 */
interface CallByTrpc {
  readonly ctx: RestContext;
  getRawInput(): Promise<unknown>;
}
