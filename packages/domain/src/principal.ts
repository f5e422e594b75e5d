import type { ApiKeyId, ApiKeyKind } from './api-key.ts';

/** On whose behalf a procedure runs. Callers in the same process name themselves; nobody is nobody. */
export type Principal =
  | { readonly type: 'api-key'; readonly keyId: ApiKeyId; readonly kind: ApiKeyKind }
  | { readonly type: 'in-process'; readonly name: string };

/** Who may place, ship and complete orders. */
export const isInternal = (principal: Principal): boolean =>
  principal.type === 'in-process' || principal.kind === 'internal';
