import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)/i;

/** The folder of the package that contains a file. */
const PACKAGE_FOLDER = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;

/**
 * The licences of the libraries.
 *
 * @param files files of packages and of our own sources
 */
export async function renderNotices(files: readonly string[]): Promise<string> {
  const folders = new Set(files.flatMap((file) => PACKAGE_FOLDER.exec(file) ?? []));
  const notices = await Promise.all(Array.from(folders, renderNotice));
  return `Third-party software in this folder, and its licences.\n${[...new Set(notices)].sort().join('')}`;
}

async function renderNotice(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const texts = await Promise.all((await listLicenceFiles(folder)).map((file) => readFile(file, 'utf8')));
  return [`\n${'='.repeat(80)}\n${name} ${version}: ${license}\n`, ...texts.map((text) => `\n${text.trim()}\n`)].join(
    '',
  );
}

/** The files beside the package's manifest, and those in a folder of licences such as `LICENSES/`. */
async function listLicenceFiles(folder: string): Promise<readonly string[]> {
  const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => LICENCE_FILE.test(name));
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name));
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    const within = await readdir(join(folder, name), { recursive: true, withFileTypes: true });
    files.push(...within.filter((entry) => entry.isFile()).map((file) => join(file.parentPath, file.name)));
  }
  return files.sort();
}
