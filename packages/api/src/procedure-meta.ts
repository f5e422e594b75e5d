import type { OpenApiMeta } from 'trpc-to-openapi';
import type { ApiVersion } from './openapi/versions.ts';
import type { RestBinding } from './rest/rest-binding.ts';

/** How settled an operation is. The document shows what is not `stable` as `x-stability`. */
export type Stability = 'experimental' | 'beta' | 'stable';

/** What a procedure says of itself. With `openapi` it is a documented REST operation, whose response `rest` describes. */
export interface ProcedureMeta {
  readonly openapi?: NonNullable<OpenApiMeta['openapi']> & { readonly operationId: string };
  readonly rest?: RestBinding;
  /** The versions in which it is an operation, and how settled it is in each. @default { v1: 'stable' } */
  readonly versions?: OperationVersions;
  /** `free` calls take nothing from the limits of their key. @default 'counted' */
  readonly cost?: 'free' | 'counted';
  /** Whether it begins its response by `Context.list`: over tRPC it may be a long list. @default false */
  readonly streams?: boolean;
}

export type OperationVersions = Readonly<Partial<Record<ApiVersion, Stability>>>;

const V1_ALONE: OperationVersions = { v1: 'stable' };

/** In which versions a procedure with `openapi` is an operation. */
export const versionsOf = ({ versions = V1_ALONE }: ProcedureMeta): OperationVersions => versions;
