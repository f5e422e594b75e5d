/**
 * Makes calls with the same key in the same tick share one run of `work`. The run begins after the event loop has read all
 * available input, and thus after the last of those calls: each call sees what was committed before it.
 */
export function coalescePerTick<Input, Value>(
  keyOf: (input: Input) => string,
  work: (input: Input) => Promise<Value>,
): (input: Input) => Promise<Value> {
  type Waiting = PromiseWithResolvers<Value> & { readonly input: Input };
  let waiting = new Map<string, Waiting>();
  const begin = (): void => {
    const begun = waiting;
    waiting = new Map();
    for (const { input, resolve } of begun.values()) resolve(work(input));
  };
  return (input) => {
    if (waiting.size === 0) setImmediate(begin);
    const key = keyOf(input);
    const shared = waiting.get(key) ?? { ...Promise.withResolvers<Value>(), input };
    waiting.set(key, shared);
    return shared.promise;
  };
}
