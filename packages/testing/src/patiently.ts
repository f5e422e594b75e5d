/** For waits that take many times longer on a busy machine than on an idle one; vitest's default is one second. */
export const PATIENTLY = { timeout: 25_000, interval: 20 };
