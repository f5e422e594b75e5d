/**
 * Makes calls with the same key that are made at the same moment share one run of `work`. It begins once all that the
 * event loop has at hand was read, so after the last of those calls: each sees what was committed before it was made.
 */
export function coalescePerTick<Key, Value>(work: (key: Key) => Promise<Value>): (key: Key) => Promise<Value> {
  let waiting = new Map<Key, PromiseWithResolvers<Value>>();
  const begin = (): void => {
    const begun = waiting;
    waiting = new Map();
    for (const [key, { resolve }] of begun) resolve(work(key));
  };
  return (key) => {
    if (waiting.size === 0) setImmediate(begin);
    const shared = waiting.get(key) ?? Promise.withResolvers<Value>();
    waiting.set(key, shared);
    return shared.promise;
  };
}
