import type { OpenApiMeta } from 'trpc-to-openapi';
import type { ZodObject, ZodOptional, ZodType } from 'zod';
import type { Deprecation } from './deprecation.ts';
import type { ErrorCode } from './error-catalogue.ts';
import type { ApiVersion } from './openapi/versions.ts';
import type { RestResult } from './rest/rest-route.ts';

/**
 * Describes a procedure as plain data beside it. The contract is the procedure's tRPC metadata, from which tRPC's middleware
 * takes who may call it; the REST routes and the OpenAPI documents are derived from it, too.
 */
export type ProcedureContract = DocumentedContract | (CallContract & { readonly openapi?: undefined });

/** Describes a procedure that is a documented REST operation, too. */
export type DocumentedContract = CallContract & RestContract;

/** Applies to every call, over tRPC and over REST. */
interface CallContract {
  readonly type: 'query' | 'mutation';
  /** @default the procedure takes no input */
  readonly input?: ZodObject | ZodOptional<ZodObject>;
  /** Who may call it: read-only keys may call no mutation in any case. @default 'all keys' */
  readonly access?: 'all keys' | 'internal';
  /** Whether the result is a list in batches, which a link that streams receives one by one. @default false */
  readonly streams?: boolean;
  /** Present if the procedure is deprecated, over tRPC and in every version over REST. */
  readonly deprecation?: Deprecation;
}

/** Describes a documented REST operation. Its parameters, in path and query, are the fields of `input`. */
interface RestContract {
  readonly input?: ZodObject;
  /**
   * The versions that have the operation, and its stability in each. Over tRPC it is as stable as in the most stable of
   * them; a procedure that is in no version is stable.
   */
  readonly versions: Readonly<Partial<Record<ApiVersion, Stability>>>;
  /** Whether the operation is deprecated follows from `deprecation`. */
  readonly openapi: Omit<NonNullable<OpenApiMeta['openapi']>, 'deprecated'> & { readonly operationId: string };
  readonly rest: RestBinding;
}

/** How stable an operation is. The document shows any value but `stable` as `x-stability`, tRPC's types as a tag. */
type Stability = 'experimental' | 'beta' | 'stable';

/** How a procedure responds over REST: with a body, or by 204 without one. */
type RestBinding = RestFacts & (RestBody | { readonly response?: undefined; readonly serialize?: undefined });

interface RestFacts {
  /** The names of query parameters that differ from those of the fields of `input`, by field. */
  readonly parameterNames?: Readonly<Record<string, string>>;
  /** The errors of the operation itself, in addition to those that every operation has. */
  readonly errors: readonly ErrorCode[];
  /** The message for a typical wrong input, as the document shows it. @default the catalogue's message */
  readonly invalidRequest?: string;
}

interface RestBody {
  /** The body of a successful response, as the document shows it. */
  readonly response: ZodType;
  /** Examples of successful responses, by name. */
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
  /** The headers of a successful response in addition to those of every response, as OpenAPI's Header Objects, by name. */
  readonly responseHeaders?: Readonly<Record<string, ResponseHeader>>;
  /**
   * Makes the response from the procedure's output and from its input as read from the request. Each contract has its own
   * types for both; this type is common to all contracts and names none.
   */
  readonly serialize: (output: never, input: never) => RestResult;
}

interface ResponseHeader {
  readonly description: string;
  /** Whether every successful response has the header. @default false */
  readonly required?: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly example?: unknown;
}
