/** For what a busy machine may take many times as long for as an idle one: vitest's own second is too little. */
export const PATIENTLY = { timeout: 25_000, interval: 20 };
