import type { ApiKeyId, ApiKeyKind } from './api-key.ts';
import type { Plan } from './plan.ts';

/** A caller with an API key. */
export interface ApiKeyPrincipal {
  readonly type: 'api-key';
  readonly keyId: ApiKeyId;
  readonly kind: ApiKeyKind;
  readonly readOnly: boolean;
  /** The plan that the key had when the call began. */
  readonly plan: Plan;
  /** What the operator calls it. */
  readonly name: string;
  readonly createdAt: Date;
  /** When the secret that was sent stops being valid: with its key, or before if it was rotated. @default no end is set */
  readonly expiresAt?: Date;
}

/** The caller of a procedure. Callers in the same process name themselves; there is no anonymous principal. */
export type Principal = ApiKeyPrincipal | { readonly type: 'in-process'; readonly name: string };

/** Who may place, ship and complete orders. */
export const isInternal = (principal: Principal): boolean =>
  principal.type === 'in-process' || principal.kind === 'internal';

/** Who may change anything, within what their kind permits. */
export const mayChange = (principal: Principal): boolean => principal.type === 'in-process' || !principal.readOnly;
