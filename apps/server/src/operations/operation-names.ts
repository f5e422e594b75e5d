import { appRouter, restRoutes } from '@petstore/api';

/** Every operation and procedure, by the name under which its requests are counted. */
export const OPERATIONS: ReadonlySet<string> = new Set([
  ...restRoutes.map(({ operationId }) => operationId),
  ...Object.keys(appRouter._def.procedures),
]);
