/** What is known of Deno's own API; other runtimes have none of it. */
interface DenoNamespace {
  readonly createHttpClient?: (options: { readonly poolMaxIdlePerHost: number }) => unknown;
}

let options: RequestInit | undefined;

/**
 * Options of `fetch` for what must not be sent twice unnoticed. When a connection that was kept open breaks, Bun and Deno
 * repeat the request on their own; with these they take a new one, whose end they report. Node never repeats, and browsers
 * cannot be told.
 */
export function singleSendOptions(): RequestInit {
  if (options !== undefined) return options;
  const { Deno: deno } = globalThis as { readonly Deno?: DenoNamespace };
  const client = deno?.createHttpClient?.({ poolMaxIdlePerHost: 0 });
  // To Bun it says whether the connection is kept; elsewhere `false` is the default.
  options = { keepalive: false, ...(client !== undefined && { client }) } as RequestInit; // Deno's has a `client`
  return options;
}
