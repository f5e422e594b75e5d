import type { OpenApiMeta } from 'trpc-to-openapi';
import type { RestBinding } from './rest/rest-binding.ts';
import type { ApiVersion } from './rest/rest-route.ts';

/** How settled an operation is. Only what is not `stable` is told in the document, as `x-stability`. */
export type Stability = 'experimental' | 'beta' | 'stable';

/** What a procedure says of itself. With `openapi` it is a documented REST operation, whose response `rest` describes. */
export interface ProcedureMeta {
  readonly openapi?: NonNullable<OpenApiMeta['openapi']> & { readonly operationId: string };
  readonly rest?: RestBinding;
  /** @default 'v1' */
  readonly apiVersion?: ApiVersion;
  /** `free` calls take nothing from the limits of their key. @default 'counted' */
  readonly cost?: 'free' | 'counted';
  /** Whether it begins its response by `Context.beginList`: over tRPC it may be a long list. @default false */
  readonly streams?: boolean;
  /** @default 'stable' */
  readonly stability?: Stability;
}
