import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export type Encoding = 'br' | 'gzip' | 'identity';

/** The bytes of an answer in one content coding. */
export interface Representation {
  readonly body: Uint8Array;
  /** Strong, so different for each coding (RFC 9110 section 8.8.3). */
  readonly etag: string;
}

/** Near the best that brotli can do, at a sixth of the time: 0.1 s for the largest file, once in a process's life. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
const compressWithBrotli = promisify(brotliCompress);
const compressWithGzip = promisify(gzip);

/**
 * One file of the site. It is read or rendered, and compressed, when it is first asked for, off the event loop where
 * that takes time; the outcome is kept.
 */
export class Resource {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly #load: () => Promise<Uint8Array> | Uint8Array;
  readonly #representations = new Map<Encoding, Promise<Representation>>();

  constructor(
    contentType: string,
    headers: Readonly<Record<string, string>>,
    load: () => Promise<Uint8Array> | Uint8Array,
  ) {
    this.contentType = contentType;
    this.headers = headers;
    this.#load = load;
  }

  /** @throws what reading the file throws; the next call tries again */
  represent(encoding: Encoding): Promise<Representation> {
    const known = this.#representations.get(encoding);
    if (known !== undefined) return known;
    const representation = this.#create(encoding);
    this.#representations.set(encoding, representation);
    representation.catch(() => this.#representations.delete(encoding));
    return representation;
  }

  async #create(encoding: Encoding): Promise<Representation> {
    if (encoding === 'identity') {
      const body = await this.#load();
      return { body, etag: `"${hash('sha256', body, 'base64url').slice(0, 22)}"` };
    }
    const { body, etag } = await this.represent('identity');
    const compressed = await (encoding === 'br' ? compressWithBrotli(body, BROTLI) : compressWithGzip(body));
    return { body: compressed, etag: `${etag.slice(0, -1)}-${encoding}"` };
  }
}
