import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { readInt64 } from '../int64.ts';
import { API_VERSIONS, type ApiVersion } from '../openapi/versions.ts';
import type { DocumentedContract } from '../procedure-contract.ts';
import { createCaller, procedureContracts } from '../router.ts';
import { requirePermission } from '../trpc/permission.ts';
import { inputOf, restParametersOf } from './parameters.ts';
import { createQueryReader } from './query.ts';
import type { RestResult, RestRoute } from './rest-route.ts';

/** Every documented operation: each procedure whose contract has `openapi`, in each of its versions. */
export const restRoutes: readonly RestRoute[] = [...procedureContracts].flatMap(([procedure, contract]) => {
  if (contract.openapi === undefined) return [];
  const versions = Object.keys(contract.versions) as ApiVersion[]; // by its type
  return versions.map((apiVersion) => createRestRoute(procedure, contract, apiVersion));
});

/** The input consists of the path parameters and, if the version has any, the query parameters. No operation has a body. */
function createRestRoute(procedure: string, contract: DocumentedContract, apiVersion: ApiVersion): RestRoute {
  const { openapi, rest, deprecation } = contract;
  const { operationId, method, path } = openapi;
  const { takesQuery } = API_VERSIONS[apiVersion];
  const pathParameters = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name);
  const { shape } = restParametersOf(contract);
  const inQuery = Object.entries(shape).filter(([name]) => !pathParameters.includes(name));
  const querySchema = z.object(Object.fromEntries(inQuery));
  const readQuery = createQueryReader(querySchema.shape);
  // The types are those of the procedure's own output and input.
  const serialize = rest.serialize as ((output: unknown, input: unknown) => RestResult) | undefined;
  return {
    operationId,
    procedure,
    apiVersion,
    method,
    path,
    successStatus: serialize === undefined ? 204 : 200,
    takesQuery,
    ...(deprecation && { deprecation }),
    async call(params, context, query = '') {
      requirePermission(context.principal, contract); // the procedure does so too, after the parameters have been read
      const parameters = takesQuery ? readQuery(query) : {};
      // The procedure checks its input by the same schemas, but under the names of its own fields.
      const { error } = querySchema.safeParse(parameters);
      if (error !== undefined) throw new TRPCError({ code: 'BAD_REQUEST', cause: error });
      const values = {
        ...Object.fromEntries(pathParameters.map((name) => [name, readInt64(name, params[name] ?? '')])),
        ...inputOf(contract, parameters),
      };
      const output = await callProcedure(procedure, context, values);
      return serialize === undefined ? { type: 'empty' } : serialize(output, values);
    },
  };
}

/** tRPC's caller without the names of procedures: routers, and finally a procedure. */
type AnyCaller = ((input: unknown) => Promise<unknown>) & { readonly [name: string]: AnyCaller };

function callProcedure(path: string, context: Context, input: unknown): Promise<unknown> {
  const caller = createCaller(context) as unknown as AnyCaller;
  return path.split('.').reduce((router, name) => router[name] as AnyCaller, caller)(input); // it has every name
}
