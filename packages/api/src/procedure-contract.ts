import type { OpenApiMeta } from 'trpc-to-openapi';
import type { ZodArray, ZodObject, ZodOptional, ZodType } from 'zod';
import type { Deprecation } from './deprecation.ts';
import type { ErrorCode } from './error-catalogue.ts';
import type { ApiVersion } from './openapi/versions.ts';
import type { JsonPiece } from './rest/order-json.ts';

/**
 * What an operation promises, as plain data. Its procedures over tRPC and over REST are made from it, and have it as their
 * metadata; the OpenAPI documents and what the client knows of the operation follow from it, too.
 */
export type ProcedureContract = DocumentedContract | (CallContract & { readonly openapi?: undefined });

/** The contract of a procedure that is a documented REST operation, too. */
export type DocumentedContract = CallContract & RestContract;

/** Applies to every call, over tRPC and over REST. */
type CallContract = CallFacts & (QueryFacts | MutationFacts);

interface CallFacts {
  /** @default the procedure takes no input */
  readonly input?: ZodObject | ZodOptional<ZodObject>;
  /** Who may call it: read-only keys may call no mutation in any case. @default 'all keys' */
  readonly access?: 'all keys' | 'internal';
  /** Present if the procedure is deprecated, over tRPC and in every version over REST. */
  readonly deprecation?: Deprecation;
}

interface QueryFacts {
  readonly type: 'query';
  /** Whether the result is a list in batches, which a link that streams receives one by one. @default false */
  readonly streams?: boolean;
}

interface MutationFacts {
  readonly type: 'mutation';
  readonly repetition: Repetition;
}

/** How a client repeats a call whose response was lost, without doing anything twice. */
type Repetition =
  /** The service recognizes the call by the field `idempotencyKey` of its input, and gives the same response again. */
  | { readonly type: 'idempotency-key' }
  /**
   * The call changes a state, so it succeeds only once: repeated after a lost response, it succeeded if it is refused with
   * this error. The query, by its name over tRPC, then returns the result for the same input, if the operation returns any.
   */
  | { readonly type: 'transition'; readonly doneCode: ErrorCode; readonly resultOf?: string };

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
type RestBinding = RestFacts & (RestBody | RestStream | NoBody);

interface NoBody {
  readonly response?: undefined;
  readonly stream?: undefined;
}

interface RestFacts {
  /** The names of query parameters that differ from those of the fields of `input`, by field. */
  readonly parameterNames?: Readonly<Record<string, string>>;
  /** The errors of the operation itself, in addition to those that every operation has. */
  readonly errors: readonly ErrorCode[];
  /** The message for a typical wrong input, as the document shows it. @default the catalogue's message */
  readonly invalidRequest?: string;
}

interface RestBody extends ResponseFacts {
  /**
   * The body of a successful response. It is made from the operation's result by this schema, and its output is what the
   * document shows.
   */
  readonly response: ZodType;
  readonly stream?: undefined;
}

/** A list that is written in pieces, because it may not fit into memory. */
interface RestStream extends ResponseFacts {
  /** The list as the document shows it. */
  readonly response: ZodArray;
  /** The text of the list. Each contract has its own type for the output; this type is common to all and names none. */
  readonly stream: (output: never) => AsyncIterable<JsonPiece>;
}

interface ResponseFacts {
  /** Examples of successful responses, by name. */
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
}
