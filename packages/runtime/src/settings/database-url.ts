import { parseIntoClientConfig } from 'pg-connection-string';
import { z } from 'zod';

/** Completes "it must be ..." for DATABASE_URL. */
export const DATABASE_URL_FORM =
  'postgres://user:password@host:5432/database, with one host (% / ? # in a password as %25 %2F %3F %23)';

/**
 * An unescaped / ? or # in a password ends the host, and what follows would be shown as the name of a database. So there is
 * no fragment, and no @ in the path or in the name of the first parameter.
 */
const PARTS =
  /^(?<user>postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?<host>[^/?#@]*)(?<rest>(?:\/[^?#@]*)?(?:\?[^#@=]*=[^#]*)?)$/;

/**
 * Parses DATABASE_URL by the driver's own parser, which also reads the files that the parameters for TLS name. What it
 * says of a wrong one is the message, with no part of the text but the path of a file or a port.
 *
 * @returns the URL, with a host also where a parameter names the folder of a socket, as MikroORM needs
 */
export function parseDatabaseUrl(text: string, context: z.RefinementCtx): string {
  const refuse = (message: string) => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  const { user, host, rest } = PARTS.exec(text)?.groups ?? {};
  if (host === undefined) return refuse(`it must be ${DATABASE_URL_FORM}`);
  const severalHosts = `it names several hosts; it must be ${DATABASE_URL_FORM}`;
  if (host.includes(',')) return refuse(severalHosts);
  const url = `${user}${host || 'localhost'}${rest}`;
  try {
    const { href } = new URL(url); // the driver alone would take a blank in a host
    return parseIntoClientConfig(href).host?.includes(',') ? refuse(severalHosts) : url;
  } catch (error) {
    return refuse(`${error instanceof Error ? error.message : error}; it must be ${DATABASE_URL_FORM}`);
  }
}
