import { parseInt64 } from '@petstore/domain';
import { type AnyTRPCProcedure, type AnyTRPCRouter, getTRPCErrorFromUnknown } from '@trpc/server';
import { z } from 'zod';
import { ApiError } from '../api-error.ts';
import type { Context } from '../context.ts';
import { API_VERSIONS, type ApiVersion } from '../openapi/versions.ts';
import { type ProcedureMeta, versionsOf } from '../procedure-meta.ts';
import { int64Complaint } from '../procedures/input-object.ts';
import { appRouter } from '../router.ts';
import { createQueryReader } from './query.ts';
import type { RestResult, RestRoute } from './rest-route.ts';

type PathParams = Readonly<Record<string, string>>;
type ReadInput = (params: PathParams, query: string) => unknown;

/**
 * Maps every procedure with `meta.openapi` to a REST route in each of its versions, once, at start.
 *
 * @throws Error where a procedure cannot be mapped: an input that the path does not hold, or no `meta.rest`
 * @internal exported for its tests
 */
export function createRestRoutes(router: AnyTRPCRouter): readonly RestRoute[] {
  const procedures: Record<string, AnyTRPCProcedure> = router._def.procedures;
  return Object.entries(procedures).flatMap(([name, procedure]) => {
    const meta = procedure._def.meta as ProcedureMeta | undefined; // the router is made with this type of metadata
    if (meta?.openapi === undefined) return [];
    const versions = Object.keys(versionsOf(meta)) as ApiVersion[]; // by its type
    return versions.map((apiVersion) => createRestRoute(name, procedure, meta, apiVersion));
  });
}

function createRestRoute(
  name: string,
  procedure: AnyTRPCProcedure,
  { openapi, rest }: ProcedureMeta,
  apiVersion: ApiVersion,
): RestRoute {
  if (openapi === undefined || rest === undefined) {
    throw new Error(`${name} has meta.openapi but no meta.rest, which describes its response.`);
  }
  if (rest.response !== undefined && rest.serialize === undefined) {
    throw new Error(`${name} has meta.rest.response but no meta.rest.serialize, which writes it.`);
  }
  // Its own procedure's output and input, by the contract.
  const serialize = rest.serialize as ((output: unknown, input: unknown) => RestResult) | undefined;
  const { takesQuery } = API_VERSIONS[apiVersion];
  const { deprecatedAt, sunsetAt } = rest;
  const readInput = createInputReader(name, procedure, { takesQuery, path: openapi.path });
  const callProcedure = createProcedureCall(name, procedure);
  return {
    operationId: openapi.operationId,
    procedure: name,
    apiVersion,
    method: openapi.method,
    path: openapi.path,
    successStatus: serialize === undefined ? 204 : 200,
    takesQuery,
    ...(deprecatedAt && sunsetAt && { deprecation: { deprecatedAt, sunsetAt } }),
    async call(params, ctx, query = '') {
      const input = readInput(params, query);
      const output = await callProcedure(ctx, input);
      return serialize === undefined ? EMPTY : serialize(output, input);
    },
  };
}

const EMPTY: RestResult = { type: 'empty' };

/** The input is made of the path parameters and, if the version has any, of query parameters. No operation has a body. */
function createInputReader(
  name: string,
  procedure: AnyTRPCProcedure,
  { takesQuery, path }: { readonly takesQuery: boolean; readonly path: string },
): ReadInput {
  const shape = inputShapeOf(name, procedure);
  const names = Array.from(path.matchAll(/\{(.+?)\}/g), ([, parameter = '']) => parameter);
  for (const parameter of names) {
    if (!(shape[parameter] instanceof z.ZodBigInt)) throw new Error(`${name}: ${parameter} must be a 64-bit integer.`);
  }
  const others = Object.fromEntries(Object.entries(shape).filter(([parameter]) => !names.includes(parameter)));
  const readPath = createPathReader(names);
  if (!takesQuery) {
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

/**
 * Reads a path parameter. Here, not by coercion in the schema: that would loosen what tRPC accepts, and take `0x1` for 1.
 *
 * @throws ApiError `invalid_request`
 */
function readInt64(parameter: string, text = ''): bigint {
  const value = parseInt64(text);
  if (value === undefined) throw new ApiError('invalid_request', int64Complaint(parameter));
  return value;
}

/** Calls a procedure in this process: its middlewares, its input check, its resolver. Rejects with what they throw. */
type ProcedureCall = (ctx: Context, input: unknown) => Promise<unknown>;

type MiddlewareResult = { readonly ok: true; readonly data: unknown } | { readonly ok: false; readonly error: Error };

interface NextOptions {
  readonly ctx?: object;
  readonly input?: unknown;
  readonly getRawInput?: () => Promise<unknown>;
}

type Middleware = (opts: object) => Promise<MiddlewareResult>;

/**
 * Runs a procedure's chain of middlewares as tRPC does, but makes the options of each step as one object literal. tRPC
 * copies them twice a step through a helper for old engines, which takes longer than all the rest of a short request.
 * A test compares both ways.
 *
 * @internal for the test
 * @throws Error where the procedure is not made of middlewares: another version of tRPC
 */
export function createProcedureCall(path: string, procedure: AnyTRPCProcedure): ProcedureCall {
  const { type, meta } = procedure._def;
  const { middlewares } = procedure._def as unknown as { readonly middlewares?: unknown }; // tRPC hides it from types
  if (!isChain(middlewares)) throw new Error(`${path}: this version of tRPC makes procedures in another way.`);
  const chain = middlewares;

  async function runFrom(
    index: number,
    ctx: object,
    input: unknown,
    getRawInput: () => Promise<unknown>,
  ): Promise<MiddlewareResult> {
    const middleware = chain[index];
    try {
      if (middleware === undefined) throw new Error(`${path}: the resolver calls next().`);
      return await middleware({
        ctx,
        input,
        getRawInput,
        path,
        type,
        meta,
        signal: undefined,
        batchIndex: 0,
        next: (options?: NextOptions) =>
          runFrom(
            index + 1,
            options?.ctx === undefined ? ctx : { ...ctx, ...options.ctx },
            options !== undefined && 'input' in options ? options.input : input,
            options?.getRawInput ?? getRawInput,
          ),
      });
    } catch (cause) {
      return { ok: false, error: getTRPCErrorFromUnknown(cause) };
    }
  }

  return async (ctx, rawInput) => {
    const result = await runFrom(0, ctx, undefined, () => Promise.resolve(rawInput));
    if (!result.ok) throw result.error;
    return result.data;
  };
}

const isChain = (middlewares: unknown): middlewares is readonly Middleware[] =>
  Array.isArray(middlewares) && middlewares.length > 0 && middlewares.every((step) => typeof step === 'function');

/** Every documented operation. */
export const restRoutes = createRestRoutes(appRouter);
