import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTemporaryFolder, endWithTestRun, type TemporaryFolder } from '@petstore/testing';
import { DockerfileParser, type JSONInstruction } from 'dockerfile-ast';
import { ROOT } from '../../src/build-folder.ts';
import { type Exit, Program } from './program.ts';

export const DOCKERFILE = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');

/** What the last stage of the Dockerfile says of a container. */
interface LastStage {
  readonly environment: Readonly<Record<string, string>>;
  /** By the path in the container, where it comes from in the stage before. */
  readonly copies: Readonly<Record<string, string>>;
  readonly workingFolder: string;
  readonly uid: string;
  readonly gid: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
}

function readLastStage(): LastStage {
  const instructions = DockerfileParser.parse(DOCKERFILE).getInstructions();
  const last = instructions.slice(instructions.findLastIndex((each) => each.getKeyword() === 'FROM'));
  const argumentsOf = (keyword: string) =>
    last
      .filter((each) => each.getKeyword() === keyword)
      .map((each) => each.getArguments().map((argument) => argument.getValue()));
  const stringsOf = (keyword: string) =>
    (last.find((each) => each.getKeyword() === keyword) as JSONInstruction) // the parser's class of these two
      .getJSONStrings()
      .map((text) => text.getJSONValue());
  const [uid = '', gid = ''] = argumentsOf('USER').join().split(':');
  return {
    environment: Object.fromEntries(
      argumentsOf('ENV')
        .flat()
        .map((pair) => pair.split('=')),
    ),
    copies: Object.fromEntries(argumentsOf('COPY').map(([from, to]) => [to, from])),
    workingFolder: argumentsOf('WORKDIR').join(),
    uid,
    gid,
    entrypoint: stringsOf('ENTRYPOINT'),
    command: stringsOf('CMD'),
  };
}

/** Mounts what a container has, read-only, and becomes its first process. */
const BECOME = `set -e
mount --make-rprivate /
mount --bind "$root" "$root"
while read -r from to; do mount --bind "$from" "$root$to"; done < "$mounts"
mount -t proc proc "$root/proc"
for each in "$root" $(cut -d ' ' -f 2 "$mounts" | sed "s:^:$root:"); do mount -o remount,bind,ro "$each"; done
exec setpriv --clear-groups --no-new-privs unshare --root="$root" --wd="$folder" --setgid="$gid" --setuid="$uid" -- "$@"`;

/**
 * A container as the Dockerfile has it, but for its base image: of that it has only what Node's program is linked with.
 * It shares the network of the machine. Needs root.
 */
export class Image implements Disposable {
  readonly stage = readLastStage();
  readonly #temporary: TemporaryFolder = createTemporaryFolder();
  readonly #root = join(this.#temporary.path, 'root');
  readonly #mounts: [from: string, to: string][] = [];

  /** @param built the folder that the Dockerfile builds */
  constructor(built: string) {
    if (process.getuid?.() !== 0) {
      throw new Error('A container is made by mounts and namespaces here, which takes root: run these tests as root.');
    }
    const sources: Readonly<Record<string, string>> = {
      '/usr/local/bin/node': process.execPath,
      '/workspace/dist/petstore': built,
    };
    const linked = execFileSync('ldd', [process.execPath], { encoding: 'utf8' }).matchAll(/(\/\S+) \(/g);
    mkdirSync(join(this.#root, 'proc'), { recursive: true });
    for (const [to, from] of Object.entries(this.stage.copies)) {
      const source = sources[from];
      if (source === undefined) throw new Error(`The Dockerfile copies ${from}, for which this test names no source.`);
      this.#mount(source, to, from === '/workspace/dist/petstore');
    }
    for (const [, library = ''] of linked) this.#mount(library, library);
    for (const device of ['/dev/null', '/dev/urandom']) this.#mount(device, device);
  }

  #mount(from: string, to: string, isFolder = false): void {
    const target = join(this.#root, to);
    mkdirSync(isFolder ? target : dirname(target), { recursive: true });
    if (!isFolder) writeFileSync(target, '');
    this.#mounts.push([from, to]);
  }

  /** Mounts a file as a secret. @returns its path in containers that are started from now on */
  addSecret(name: string, text: string): string {
    const file = join(this.#temporary.path, basename(name));
    writeFileSync(file, text, { mode: 0o644 });
    const path = `/run/secrets/${name}`;
    this.#mount(file, path);
    return path;
  }

  /** Starts a container. @param command instead of the image's own, as behind `docker run IMAGE` */
  run(environment: Readonly<Record<string, string>>, command = this.stage.command): Container {
    const mounts = join(this.#temporary.path, 'mounts');
    writeFileSync(mounts, this.#mounts.map((pair) => `${pair.join(' ')}\n`).join(''));
    const { entrypoint, environment: own, workingFolder, uid, gid } = this.stage;
    const variables = { root: this.#root, mounts, folder: workingFolder, uid, gid };
    const assignments = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
    // The variables of the script are not exported: the container has its environment alone.
    const script = ['sh', '-c', assignments.join('') + BECOME, 'sh', ...entrypoint, ...command];
    return new Container(['unshare', '--mount', '--pid', '--ipc', '--uts', '--fork', ...script], {
      ...own,
      ...environment,
    });
  }

  [Symbol.dispose](): void {
    this.#temporary[Symbol.dispose]();
  }
}

/** A program as the first process of a namespace of its own. Signals go to it, and not to what has started it. */
export class Container extends Program {
  /** As the machine numbers it: in the container it is 1. */
  readonly firstPid: Promise<number>;

  constructor(command: readonly string[], environment: Readonly<Record<string, string>>) {
    super(command, environment);
    this.firstPid = this.#findFirst();
    void this.#endWithTestRun();
  }

  async #findFirst(): Promise<number> {
    const { pid } = this.process;
    while (this.isRunning) {
      const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ', 1);
      if (child) return Number(child);
      await sleep(5);
    }
    throw new Error(`the container could not be started:\n${this.stderr}`);
  }

  async #endWithTestRun(): Promise<void> {
    const unregister = endWithTestRun(await this.firstPid);
    await this.exited;
    unregister();
  }

  override async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    process.kill(await this.firstPid, signal);
    return this.exited;
  }
}
