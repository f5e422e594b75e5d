/** The result of a decision: a value, or the reason why there is none. */
export type Result<Value, Reason extends string> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly reason: Reason };

export const ok = <Value>(value: Value) => ({ ok: true, value }) as const;
export const err = <Reason extends string>(reason: Reason) => ({ ok: false, reason }) as const;
