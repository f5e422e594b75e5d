import { procedureContracts, restRoutes, type SunsetOverrides, sunsetOf } from '@petstore/api';

/** The names under which requests are counted: all operations and procedures. */
export const OPERATIONS: ReadonlySet<string> = new Set([
  ...restRoutes.map(({ operationId }) => operationId),
  ...procedureContracts.keys(),
]);

/** When each deprecated operation ends. @param overrides dates that replace those of the contracts */
export const sunsetsOf = (overrides: SunsetOverrides): ReadonlyMap<string, Date> =>
  new Map(
    restRoutes.flatMap(({ operationId, deprecation }) =>
      deprecation === undefined ? [] : [[operationId, sunsetOf(operationId, deprecation, overrides)] as const],
    ),
  );
