/** The number of unknown keys that may be looked up for an address that is over its limit. */
const LOOK_UPS_PER_SECOND = 5;
/** The number of addresses that may have such look-ups in the same second. */
const LOOK_UP_ADDRESSES_MAX = 10_000;

/**
 * Lets a few unknown keys of an address be looked up although the address is over its limit. A valid key behind the same
 * address is then admitted within a moment, while forged ones cost next to nothing.
 */
export function createLookUpBound(): (address: string) => boolean {
  const lookUps = new Map<string, number>();
  let secondEndsAtMs = 0;
  return (address) => {
    const nowMs = performance.now();
    if (nowMs >= secondEndsAtMs) {
      lookUps.clear();
      secondEndsAtMs = nowMs + 1_000;
    }
    const count = lookUps.get(address) ?? 0;
    if (count >= LOOK_UPS_PER_SECOND || (count === 0 && lookUps.size >= LOOK_UP_ADDRESSES_MAX)) return false;
    lookUps.set(address, count + 1);
    return true;
  };
}
