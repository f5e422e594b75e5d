import { type AnyTRPCProcedure, initTRPC } from '@trpc/server';
import type { OpenApiMeta } from 'trpc-to-openapi';
import { z } from 'zod';
import type { Context } from '../context.ts';
import type { DocumentedContract } from '../procedure-contract.ts';
import { inputFromTexts } from './parameters.ts';
import type { RestReply } from './rest-route.ts';

/** What an operation is given when it is called over REST. */
export interface RestContext extends Context {
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
  resolve: (call: { readonly ctx: RestContext; readonly input: unknown }) => Promise<unknown>,
): AnyTRPCProcedure {
  const { type, openapi, rest, deprecation } = contract;
  const builder = t.procedure
    .meta({ ...contract, openapi: { ...openapi, deprecated: deprecation !== undefined, errorResponses: [] } })
    .input(inputFromTexts(contract))
    .output(rest.response ?? z.void());
  const respond = async ({ ctx, input }: { readonly ctx: RestContext; readonly input: unknown }) => {
    const output = await resolve({ ctx, input });
    if (rest.stream !== undefined) {
      ctx.reply.pieces = rest.stream(output as never); // the operation's own output
      return []; // the handler sends a result whole, so a list goes past it
    }
    return output;
  };
  return type === 'mutation' ? builder.mutation(respond) : builder.query(respond);
}
