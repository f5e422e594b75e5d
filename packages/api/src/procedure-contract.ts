import type { OpenApiMeta } from 'trpc-to-openapi';
import type { ZodObject, ZodOptional, ZodType } from 'zod';
import type { ErrorCode } from './error-catalogue.ts';
import type { ApiVersion } from './openapi/versions.ts';
import type { RestResult } from './rest/rest-route.ts';

/**
 * What a procedure says of itself, as plain data beside it. It is the procedure's tRPC metadata, and what the REST routes,
 * the OpenAPI documents and the costs of requests are made from.
 */
export type ProcedureContract = CallContract & (RestContract | { readonly openapi?: undefined });

/** What holds for every call, over tRPC and over REST. */
interface CallContract {
  readonly type: 'query' | 'mutation' | 'subscription';
  /** @default none: it takes no input */
  readonly input?: ZodObject | ZodOptional<ZodObject>;
  /** Calls that are `free` take nothing from the limits of their key. @default 'counted' */
  readonly cost?: 'free' | 'counted';
  /** Whether it begins its response by `Context.list`: over tRPC it may be a long list. @default false */
  readonly streams?: boolean;
}

/** What a documented REST operation says besides. Its parameters, in path and query, are the fields of `input`. */
export interface RestContract {
  readonly input?: ZodObject;
  /** The versions in which it is an operation, and how settled it is in each. */
  readonly versions: Readonly<Partial<Record<ApiVersion, Stability>>>;
  /** Whether it is deprecated follows from `rest.deprecation`. */
  readonly openapi: Omit<NonNullable<OpenApiMeta['openapi']>, 'deprecated'> & { readonly operationId: string };
  readonly rest: RestBinding;
}

/** How settled an operation is. The document shows what is not `stable` as `x-stability`. */
export type Stability = 'experimental' | 'beta' | 'stable';

/** How a procedure responds over REST: with a body, or by 204 without one. */
export type RestBinding = RestFacts & (RestBody | { readonly response?: undefined; readonly serialize?: undefined });

interface RestFacts {
  /** The errors of the operation itself, besides those that every operation has. */
  readonly errors: readonly ErrorCode[];
  /** The message for a typical wrong input, as the document shows it. @default the catalogue's message */
  readonly invalidRequest?: string;
  /** Until when a deprecated operation (RFC 9745) works, unless `Services.sunsetOverrides` says otherwise. */
  readonly deprecation?: Deprecation;
}

interface Deprecation {
  readonly deprecatedAt: Date;
  readonly sunsetAt: Date;
}

interface RestBody {
  /** The body of a success, as the document shows it. */
  readonly response: ZodType;
  /** What a success may hold, by name. */
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
  /** The headers of a success besides those that every response has, as OpenAPI's Header Objects, by name. */
  readonly responseHeaders?: Readonly<Record<string, ResponseHeader>>;
  /**
   * Makes the response of what the procedure returned; `input` is as it was read from the request. Both are of the types
   * of its own procedure, which is why this one names none.
   */
  readonly serialize: (output: never, input: never) => RestResult;
}

interface ResponseHeader {
  readonly description: string;
  /** Whether every success carries it. @default false */
  readonly required?: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly example?: unknown;
}
