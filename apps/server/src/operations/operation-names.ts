import { procedureContracts, restRoutes } from '@petstore/api';

/** The names under which requests are counted: all operations and procedures. */
export const OPERATIONS: ReadonlySet<string> = new Set([
  ...restRoutes.map(({ operationId }) => operationId),
  ...procedureContracts.keys(),
]);

/** The operations that end at the setting PETS_SUNSET_AT. */
export const DEPRECATED_OPERATIONS: readonly string[] = restRoutes.flatMap(({ operationId, deprecatedAt }) =>
  deprecatedAt === undefined ? [] : [operationId],
);
