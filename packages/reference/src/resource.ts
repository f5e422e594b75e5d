import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export type Encoding = 'br' | 'gzip' | 'identity';

/** Near the best that brotli can do, at a sixth of the time: 0.1 s for the largest file, once in a process's life. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
const compressWithBrotli = promisify(brotliCompress);
const compressWithGzip = promisify(gzip);

/**
 * One file of the site. It is read or rendered, and compressed, with the first request for it, off the event loop where
 * that takes time; the result is kept.
 */
export class Resource {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly #load: () => Promise<Uint8Array> | Uint8Array;
  readonly #bodies = new Map<Encoding, Promise<Uint8Array>>();

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
  encode(encoding: Encoding): Promise<Uint8Array> {
    const known = this.#bodies.get(encoding);
    if (known !== undefined) return known;
    const body = this.#create(encoding);
    this.#bodies.set(encoding, body);
    body.catch(() => this.#bodies.delete(encoding));
    return body;
  }

  async #create(encoding: Encoding): Promise<Uint8Array> {
    if (encoding === 'identity') return this.#load();
    const body = await this.encode('identity');
    return encoding === 'br' ? compressWithBrotli(body, BROTLI) : compressWithGzip(body);
  }
}
