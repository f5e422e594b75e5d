import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server';
import { z } from 'zod';
import type { Context } from '../context.ts';
import type { ProcedureMeta } from '../procedure-meta.ts';
import { appRouter } from '../router.ts';
import { createProcedureCall } from './call-procedure.ts';
import { createQueryReader } from './query.ts';
import { readInt64 } from './read-int64.ts';
import type { ApiVersion, RestResult, RestRoute } from './rest-route.ts';

type PathParams = Readonly<Record<string, string>>;
type ReadInput = (params: PathParams, query: string) => unknown;

/**
 * Maps every procedure with `meta.openapi` to a REST route, once, at start.
 *
 * @throws Error where a procedure cannot be mapped: an input that the path does not hold, or no `meta.rest`
 * @internal exported for its tests
 */
export function createRestRoutes(router: AnyTRPCRouter): readonly RestRoute[] {
  const procedures: Record<string, AnyTRPCProcedure> = router._def.procedures;
  return Object.entries(procedures).flatMap(([name, procedure]) => {
    const meta = procedure._def.meta as ProcedureMeta | undefined; // the router is made with this type of metadata
    return meta?.openapi === undefined ? [] : [createRestRoute(name, procedure, meta, meta.openapi)];
  });
}

function createRestRoute(
  name: string,
  procedure: AnyTRPCProcedure,
  { rest, apiVersion = 'v1' }: ProcedureMeta,
  openapi: NonNullable<ProcedureMeta['openapi']>,
): RestRoute {
  if (rest === undefined) throw new Error(`${name} has meta.openapi but no meta.rest, which says how it answers.`);
  // Its own procedure's output and input, by the contract.
  const serialize = rest.serialize as (output: unknown, input: unknown) => RestResult;
  const readInput = createInputReader(name, procedure, { apiVersion, path: openapi.path });
  const callProcedure = createProcedureCall(name, procedure);
  return {
    operationId: openapi.operationId,
    procedure: name,
    apiVersion,
    method: openapi.method,
    path: openapi.path,
    successStatus: rest.response === undefined ? 204 : 200,
    takesQuery: apiVersion !== 'v1',
    ...(rest.deprecatedAt && { deprecatedAt: rest.deprecatedAt }),
    async call(params: PathParams, ctx: Context, query = ''): Promise<RestResult> {
      const input = readInput(params, query);
      return serialize(await callProcedure(ctx, input), input);
    },
  };
}

interface InputPlace {
  readonly apiVersion: ApiVersion;
  readonly path: string;
}

/** The input is made of the path parameters and, except in v1, of query parameters. No operation has a body. */
function createInputReader(name: string, procedure: AnyTRPCProcedure, { apiVersion, path }: InputPlace): ReadInput {
  const shape = inputShapeOf(name, procedure);
  const names = Array.from(path.matchAll(/\{(.+?)\}/g), ([, parameter = '']) => parameter);
  for (const parameter of names) {
    if (!(shape[parameter] instanceof z.ZodBigInt)) throw new Error(`${name}: ${parameter} must be a 64-bit integer.`);
  }
  const others = Object.fromEntries(Object.entries(shape).filter(([parameter]) => !names.includes(parameter)));
  const readPath = createPathReader(names);
  if (apiVersion === 'v1') {
    if (Object.keys(others).length === 0) return readPath;
    throw new Error(`${name}: the input must hold exactly the parameters of ${path}.`);
  }
  const readQuery = createQueryReader(name, others);
  return (params, query) => ({ ...readPath(params), ...readQuery(query) });
}

function inputShapeOf(name: string, procedure: AnyTRPCProcedure): Readonly<Record<string, unknown>> {
  const { inputs } = procedure._def as unknown as { readonly inputs: readonly unknown[] }; // tRPC hides it from types
  const [schema] = inputs;
  if (schema === undefined) return {};
  if (schema instanceof z.ZodObject && inputs.length === 1) return schema.shape;
  throw new Error(`${name}: the input of a REST operation must be one zod object.`);
}

function createPathReader([first, ...others]: readonly string[]): (params: PathParams) => object | undefined {
  if (first === undefined) return () => undefined;
  if (others.length === 0) return (params) => ({ [first]: readInt64(first, params[first]) });
  const names = [first, ...others];
  return (params) => Object.fromEntries(names.map((parameter) => [parameter, readInt64(parameter, params[parameter])]));
}

/** Every documented operation. */
export const restRoutes = createRestRoutes(appRouter);
