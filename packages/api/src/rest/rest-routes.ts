import type { OpenApiRouter } from 'trpc-to-openapi';
import type { Operation } from '../define-operation.ts';
import { toApiErrorOf } from '../errors/to-api-error.ts';
import { API_VERSIONS, type ApiVersion } from '../openapi/versions.ts';
import { requirePermission } from '../permission.ts';
import type { DocumentedContract } from '../procedure-contract.ts';
import { operations } from '../router.ts';
import { parametersOf } from './parameters.ts';
import { createQueryReader } from './query.ts';
import { createRestHandler } from './rest-handler.ts';
import { restRouter } from './rest-procedure.ts';
import type { RestRoute } from './rest-route.ts';

/** The operations of each version, by which they are served and documented. */
export const restRouters = {
  v1: createRestRouter(operations, 'v1'),
  v2: createRestRouter(operations, 'v2'),
} as const satisfies Record<ApiVersion, OpenApiRouter>;

/** @param operations by name; the router has those of the version */
export function createRestRouter(operations: ReadonlyMap<string, Operation>, version: ApiVersion): OpenApiRouter {
  const procedures = [...operations].flatMap(([name, { contract, restProcedure }]) =>
    contract.openapi !== undefined && version in contract.versions && restProcedure !== undefined
      ? [[name, restProcedure] as const]
      : [],
  );
  // Its type asks metadata for an index signature, which interfaces do not have.
  return restRouter(Object.fromEntries(procedures)) as unknown as OpenApiRouter;
}

const handlerOf = (version: ApiVersion) =>
  createRestHandler(restRouters[version], (error) => toApiErrorOf(version, error));

const HANDLERS = { v1: handlerOf('v1'), v2: handlerOf('v2') };

/** Every documented operation in each of its versions. */
export const restRoutes: readonly RestRoute[] = [...operations].flatMap(([procedure, { contract }]) => {
  if (contract.openapi === undefined) return [];
  const versions = Object.keys(contract.versions) as ApiVersion[]; // by its type
  return versions.map((apiVersion) => createRestRoute(procedure, contract, apiVersion));
});

/** The input consists of the path parameters and, if the version has any, the query parameters. No operation has a body. */
function createRestRoute(procedure: string, contract: DocumentedContract, apiVersion: ApiVersion): RestRoute {
  const { openapi, rest, deprecation } = contract;
  const { operationId, method, path } = openapi;
  const { takesQuery } = API_VERSIONS[apiVersion];
  const inQuery = [...parametersOf(contract)].filter(([name]) => !path.includes(`{${name}}`));
  const readQuery = createQueryReader(new Map(inQuery));
  const handle = HANDLERS[apiVersion];
  return {
    operationId,
    procedure,
    apiVersion,
    method,
    path,
    successStatus: rest.response === undefined ? 204 : 200,
    takesQuery,
    ...(deprecation && { deprecation }),
    async call(params, context, query = '') {
      requirePermission(context.principal, contract); // before anything of the input is read
      return handle({ method, path, params, query: takesQuery ? readQuery(query) : {}, context });
    },
  };
}
