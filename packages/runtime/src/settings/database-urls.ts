/** Of the same database, one for each of its servers, in the order in which they are tried. */
export type DatabaseUrls = readonly [string, ...string[]];

/** What of the several servers is wanted: one that takes writes, whichever of these is given. */
const TAKES_WRITES = new Set(['any', 'read-write', 'primary']);

/**
 * Parses where PostgreSQL is, as its own programs do:
 * - `postgres://user:password@host:5432/database`;
 * - `postgres://user:password@one:5432,two:5433/database?target_session_attrs=read-write` for several servers, or with
 *   `?host=one,two&port=5432,5433`;
 * - `postgres:///database?host=/run/postgresql` for the folder of a socket.
 *
 * @returns a URL with one host for each server, or `undefined` where the text is no such address
 */
export function parseDatabaseUrls(text: string): DatabaseUrls | undefined {
  const match = /^(postgres(?:ql)?:\/\/)((?:[^/?#]*@)?)([^/?#]*)((?:\/[^?#]*)?)((?:\?[^#]*)?)$/.exec(text);
  if (match === null) return undefined;
  const [, scheme = '', user = '', authority = '', path = '', query = ''] = match;
  const parameters = new URLSearchParams(query);
  if (!TAKES_WRITES.has(parameters.get('target_session_attrs') ?? 'any')) return undefined;
  const places = placesOf(authority, parameters.get('host'), parameters.get('port'));
  for (const name of ['host', 'port', 'target_session_attrs']) parameters.delete(name);
  const urls = places?.map(({ host, port }) => {
    const isSocket = host.startsWith('/');
    const own = new URLSearchParams(isSocket ? { host } : {});
    const all = new URLSearchParams([...parameters, ...own]).toString();
    const place = isSocket || host === '' ? 'localhost' : host;
    return `${scheme}${user}${place}${port && `:${port}`}${path}${all && `?${all}`}`;
  });
  return urls?.every(isUsable) ? (urls as readonly string[] as DatabaseUrls) : undefined; // one at least
}

/** A per cent sign that escapes nothing, as in a password that was not encoded, is noticed before anything connects. */
function isUsable(url: string): boolean {
  try {
    const { username, password, pathname } = new URL(url);
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

interface Place {
  /** A name, an address (of IPv6 in brackets), the folder of a socket, or empty. */
  readonly host: string;
  /** Digits, or empty. */
  readonly port: string;
}

/** Parameters win over what stands in front of the path. One port is that of all hosts. */
function placesOf(authority: string, hostList: string | null, portList: string | null): Place[] | undefined {
  const inFront = authority.split(',').map((place) => /^(\[[\da-f:.]+\]|[^:[\]]*)(?::(\d{0,5}))?$/i.exec(place));
  const hosts = hostList?.split(',') ?? inFront.map((match) => match && decodeHost(match[1] ?? ''));
  const ports = portList?.split(',') ?? (hostList === null ? inFront.map((match) => match?.[2] ?? '') : ['']);
  if (ports.length !== 1 && ports.length !== hosts.length) return undefined;
  const places: Place[] = [];
  for (const [i, host] of hosts.entries()) {
    const port = ports[ports.length === 1 ? 0 : i] ?? '';
    const isPort = port === '' || (/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535);
    if (host === null || !isPort || (host === '' && hosts.length > 1)) return undefined;
    places.push({ host, port });
  }
  return places;
}

/** In front of the path the slashes of a folder are escaped. @returns `null` where something else is */
function decodeHost(text: string): string | null {
  if (!text.includes('%')) return text;
  return /^(?:%2f[\w.-]+)+$/i.test(text) ? text.replace(/%2f/gi, '/') : null;
}
