import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** One file of the site. Its content is rendered at the first call, and the same object from then on. */
export interface Resource {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly plain: () => Uint8Array;
  readonly compressed: () => Promise<Uint8Array>;
}

const compress = promisify(gzip);

/** @param render called once */
export function createResource(headers: Resource['headers'], render: () => string): Resource {
  let plain: Uint8Array | undefined;
  let compressed: Promise<Uint8Array> | undefined;
  const renderOnce = () => {
    plain ??= Buffer.from(render());
    return plain;
  };
  const compressOnce = () => {
    compressed ??= compress(renderOnce());
    return compressed;
  };
  return { headers, plain: renderOnce, compressed: compressOnce };
}
