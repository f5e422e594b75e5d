import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { buildFolder, ROOT } from './build-folder.ts';

/** @internal exported for a test */
export const RELEASE_FOLDER = join(ROOT, 'dist/release');
const CHECKSUMS = 'SHA256SUMS';
/** The name that the list of parts gives the commit. */
const COMMIT_PROPERTY = 'petstore:commit';

export interface Release {
  readonly version: string;
  readonly commit: string;
  /** In seconds since 1970. Whatever a file says of the time when it was made is the time of its commit. */
  readonly committedAt: string;
  readonly notes: string;
}

/** A CycloneDX document, as far as it is changed here. */
interface Sbom {
  serialNumber?: string;
  readonly metadata: { timestamp: string; properties?: readonly { readonly name: string; readonly value: string }[] };
  components: readonly { readonly 'bom-ref': string; readonly group?: string; name: string; version: string }[];
  dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const fileOf = (name: string): string => join(RELEASE_FOLDER, name);
const run = (command: string, args: readonly string[]): Buffer =>
  execFileSync(command, args, { cwd: ROOT, maxBuffer: 100_000_000, stdio: ['ignore', 'pipe', 'inherit'] });

/** Builds what a release ships. Two builds of a commit are equal, byte for byte. */
export async function buildRelease(release: Release, { withImage }: { readonly withImage: boolean }): Promise<void> {
  const { version, commit, committedAt, notes } = release;
  const name = `petstore-orders-${version}`;
  rmSync(RELEASE_FOLDER, { recursive: true, force: true });
  mkdirSync(RELEASE_FOLDER, { recursive: true });
  const keep = (file: string, content: string | Buffer) => {
    writeFileSync(fileOf(file), content);
    console.log(`built dist/release/${file}`);
  };

  keep('RELEASE-NOTES.md', `${notes}\n`);
  const folder = join(ROOT, 'dist/petstore');
  await buildFolder(folder);
  keep(`${name}.tar.gz`, gzipSync(archive(name, committedAt), { level: 9 }));
  keep(`${name}.cdx.json`, `${JSON.stringify(listParts(folder, release), undefined, 2)}\n`);
  run('pnpm', ['--dir', 'packages/client', 'pack', '--pack-destination', RELEASE_FOLDER]);
  console.log(`built dist/release/petstore-client-${version}.tgz`);
  if (withImage) {
    const times = ['--build-arg', `SOURCE_DATE_EPOCH=${committedAt}`, '--provenance=false'];
    const output = `type=docker,dest=${fileOf(`${name}.image.tar`)},rewrite-timestamp=true`;
    const image = ['-f', 'deploy/Dockerfile', '-t', `petstore-orders:${version}`, '--build-arg', `COMMIT=${commit}`];
    run('docker', ['buildx', 'build', ...image, ...times, '--output', output, '.']);
    console.log(`built dist/release/${name}.image.tar`);
  }
  const files = globSync('*', { cwd: RELEASE_FOLDER }).sort();
  keep(CHECKSUMS, files.map((file) => `${sha256(readFileSync(fileOf(file)))}  ${file}\n`).join(''));
}

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

/** The built folder as a tar file that tells nothing of who made it, and when. */
function archive(name: string, committedAt: string): Buffer {
  const order = ['--format=gnu', '--sort=name', `--mtime=@${committedAt}`];
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u+w,go-w,a+rX'];
  return run('tar', ['-C', 'dist', ...order, ...owner, `--transform=s:^petstore:${name}:`, '-cf', '-', 'petstore']);
}

/** What the built folder consists of. pnpm lists what an install would bring; what was not bundled is left out. */
function listParts(folder: string, { commit, committedAt }: Release): Sbom {
  const filters = ['--filter', '@petstore/server', '--filter', '@petstore/cli'];
  const format = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  const sbom: Sbom = JSON.parse(run('pnpm', [...filters, 'sbom', ...format, '--prod']).toString());
  const bundled = namesOfNotices(readFileSync(join(folder, 'THIRD-PARTY-NOTICES.txt'), 'utf8'));
  const isPart = ({ group, name, version }: Sbom['components'][number]) =>
    group === '@petstore' || bundled.has(`${group === undefined ? '' : `${group}/`}${name} ${version}`);
  sbom.components = sbom.components.filter(isPart).sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
  const left = new Set(sbom.components.map((component) => component['bom-ref']));
  const isRoot = (ref: string) => ref.startsWith('pkg:npm/petstore-orders@');
  sbom.dependencies = sbom.dependencies
    .filter(({ ref }) => left.has(ref) || isRoot(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => left.has(other)) }));
  // Both would differ from build to build. The number is optional.
  delete sbom.serialNumber;
  sbom.metadata.timestamp = new Date(Number(committedAt) * 1000).toISOString();
  sbom.metadata.properties = [{ name: COMMIT_PROPERTY, value: commit }];
  return sbom;
}

/**
 * @internal exported for a test
 * @returns each package that the notices of the built folder name, as `name version`
 */
export const namesOfNotices = (notices: string): ReadonlySet<string> =>
  new Set(Array.from(notices.matchAll(/^={80}\n(\S+ \S+): /gm), ([, name = '']) => name));

/** Whether the release folder holds what this commit builds, unchanged. */
export function isBuiltFrom({ version, commit }: Release): boolean {
  if (!existsSync(fileOf(CHECKSUMS))) return false;
  const lines = readFileSync(fileOf(CHECKSUMS), 'utf8').trimEnd().split('\n');
  const isUnchanged = lines.every((line) => {
    const [sum, file = ''] = line.split('  ');
    return existsSync(fileOf(file)) && sha256(readFileSync(fileOf(file))) === sum;
  });
  const parts = fileOf(`petstore-orders-${version}.cdx.json`);
  if (!isUnchanged || !existsSync(parts)) return false;
  const { metadata }: Sbom = JSON.parse(readFileSync(parts, 'utf8'));
  return metadata.properties?.some(({ name, value }) => name === COMMIT_PROPERTY && value === commit) ?? false;
}
