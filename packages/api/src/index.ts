export { ApiError } from './api-error.ts';
export * from './authentication/authenticator.ts';
export { createAuthenticator } from './authentication/create-authenticator.ts';
export type { BeginList, Context, Services, TakeTurn, Wait } from './context.ts';
export { defineOperation } from './define-operation.ts';
export { deprecationHeaders, sunsetDay } from './deprecation.ts';
export { codeIn, ERROR_CATALOGUE, type ErrorCode } from './error-catalogue.ts';
export { type ErrorResponse, errorResponse, toErrorResponse } from './errors/error-response.ts';
export { createRefusal, refusalOf } from './errors/refusals.ts';
export { failureOf, toApiError } from './errors/to-api-error.ts';
export { int64Text } from './int64.ts';
export { type DocumentOptions, type DocumentServer, describeServers, openApiDocument } from './openapi/document.ts';
export {
  type ApiVersion,
  DEPRECATION_GUIDE_PATH,
  DOCUMENTED_VERSIONS,
  type VersionDescription,
} from './openapi/versions.ts';
export { INTERNAL_ONLY } from './permission.ts';
export type { DocumentedContract, ProcedureContract } from './procedure-contract.ts';
export type { ListedOrderEvent } from './procedures/orders/list-order-events.ts';
export type { JsonPiece } from './rest/order-json.ts';
export type { RestResult, RestRoute } from './rest/rest-route.ts';
export { createRestRouter, restRouters, restRoutes } from './rest/rest-routes.ts';
export { type AppRouter, appRouter, createCaller, type Procedures, procedureContracts } from './router.ts';
export { type TrpcErrorData, type TrpcErrorShape, toTrpcEnvelope } from './trpc/format-error.ts';
export { trpcResponseMeta } from './trpc/response-meta.ts';
