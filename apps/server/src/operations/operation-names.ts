import { procedureContracts, restRoutes, type SunsetOverrides, sunsetOf } from '@petstore/api';

/** Every operation and procedure, by the name under which its requests are counted. */
export const OPERATIONS: ReadonlySet<string> = new Set([
  ...restRoutes.map(({ operationId }) => operationId),
  ...procedureContracts.keys(),
]);

/** When each deprecated operation ends. @param overrides in place of what its contract says */
export const sunsetsOf = (overrides: SunsetOverrides): ReadonlyMap<string, Date> =>
  new Map(
    restRoutes.flatMap(({ operationId, deprecation }) =>
      deprecation === undefined ? [] : [[operationId, sunsetOf(operationId, deprecation, overrides)] as const],
    ),
  );
