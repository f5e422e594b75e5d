import type { OpenApiMeta } from 'trpc-to-openapi';
import type { ZodType } from 'zod';
import type { ErrorCode } from '../error-catalogue.ts';
import type { RestResult } from './rest-route.ts';

/** How settled an operation is. Only what is not `stable` is told in the document, as `x-stability`. */
type Stability = 'experimental' | 'beta' | 'stable';

/** The version segment that a REST operation is served below, and whose document it stands in. */
export type ApiVersion = 'v1' | 'v2';

/** How a procedure answers over REST, where its representation differs from the object that tRPC gives. */
export interface RestContract<Output = never> {
  /** The body of a success, as the document shows it; none: 204. */
  readonly response?: ZodType;
  /** The errors of the operation itself, besides those that every operation may answer with. */
  readonly errors: readonly ErrorCode[];
  /** Since when the operation is deprecated (RFC 9745). Goes with `deprecated` in `meta.openapi`. */
  readonly deprecatedAt?: Date;
  /** Turns what the procedure gave into what goes over the wire. */
  readonly represent: (output: Output) => RestResult;
}

/** What a procedure says of itself. With `openapi` it is a documented REST operation, and `rest` says how it answers. */
export interface ProcedureMeta {
  readonly openapi?: NonNullable<OpenApiMeta['openapi']> & { readonly operationId: string };
  readonly rest?: RestContract;
  /** @default 'v1' */
  readonly apiVersion?: ApiVersion;
  /** `free` calls take nothing from the limits of their key. @default 'counted' */
  readonly cost?: 'free' | 'counted';
  /** @default 'stable' */
  readonly stability?: Stability;
}
