import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { crc32, createGunzip, createGzip } from 'node:zlib';
import { CommandError } from '../errors.ts';

// A backup is a gzip file of two members, which zcat shows as one text. The second one, the seal, says in its text what
// the SHA-256 of the first is. It is stored as it is, so its bytes are the same whatever compresses, and each byte of the
// file is checked. gzip's own checksum leaves some out, and notices neither a member that is missing nor one too many.

/** Each level above takes more time than it saves: see docs/decisions/0078-backups.md. */
const COMPRESSION_LEVEL = 1;
const CHUNK_BYTES = 1 << 16;

/** Magic, deflate, no flags, no time, no level, no system. */
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
const LAST_STORED_BLOCK = 1;

function sealOf(digest: string): Buffer {
  const text = Buffer.from(`{"sha256":"${digest}"}\n`);
  const block = Buffer.alloc(5);
  block.writeUInt8(LAST_STORED_BLOCK, 0);
  block.writeUInt16LE(text.length, 1);
  block.writeUInt16LE(~text.length & 0xff_ff, 3);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(text), 0);
  trailer.writeUInt32LE(text.length, 4);
  return Buffer.concat([GZIP_HEADER, block, text, trailer]);
}

const newHash = () => createHash('sha256');

const SEAL_BYTES = sealOf(newHash().digest('hex')).length;

/** Compresses a text, and seals it. */
export async function* seal(text: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: COMPRESSION_LEVEL, chunkSize: CHUNK_BYTES });
  const feeding = pipeline(text, gzip);
  feeding.catch(() => {}); // the reader of the compressed text gets the error
  const hash = newHash();
  for await (const chunk of gzip as AsyncIterable<Buffer>) {
    hash.update(chunk);
    yield chunk;
  }
  await feeding;
  yield sealOf(hash.digest('hex'));
}

/**
 * Gives the text of a sealed file. It ends only after the seal has been found to be right.
 *
 * @throws CommandError where it is not
 */
export async function* unseal(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const sealed = new SealedBytes(bytes);
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  const feeding = pipeline(sealed.withoutSeal(), gunzip);
  feeding.catch(() => {}); // likewise
  try {
    yield* gunzip;
  } catch (error) {
    throw error instanceof Error && 'code' in error && String(error.code).startsWith('Z_') ? damaged() : error;
  }
  // What is compressed says itself where it ends, which may be before the file does.
  if (!sealed.isWhole) throw damaged();
}

/**
 * Reads a sealed file to its end.
 *
 * @throws CommandError where its seal is not right
 */
export async function checkSeal(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of new SealedBytes(bytes).withoutSeal());
}

const damaged = (): CommandError => new CommandError('the backup was cut off or altered');

/** Checks a sealed file as it is read. */
class SealedBytes {
  readonly #bytes: AsyncIterable<Uint8Array>;
  #isWhole = false;

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#bytes = bytes;
  }

  /** Whether it has been read to its end, and the seal was right. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  async *withoutSeal(): AsyncGenerator<Uint8Array> {
    const hash = newHash();
    let isFirst = true;
    /** The last bytes so far, which may be the seal. */
    let held: Buffer = Buffer.alloc(0);
    for await (const chunk of this.#bytes) {
      const all = Buffer.concat([held, chunk]);
      const end = Math.max(0, all.length - SEAL_BYTES);
      held = all.subarray(end);
      if (end === 0) continue;
      if (isFirst && all.indexOf(GZIP_HEADER.subarray(0, 2)) !== 0) throw new CommandError('this is no backup');
      isFirst = false;
      const body = all.subarray(0, end);
      hash.update(body);
      yield body;
    }
    if (!held.equals(sealOf(hash.digest('hex')))) throw damaged();
    this.#isWhole = true;
  }
}
